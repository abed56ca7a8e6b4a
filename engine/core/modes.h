#pragma once

#include <cstdint>

namespace lamella {

class Node;

namespace autograd {

/// Per-thread switches of the tape.
struct Modes {
  /// Something that looks at every call of an operator on this thread. An ordinary call asks once whether there is any.
  enum Interceptor : std::uint8_t {
    /// Tangents are computed beside values: forward mode.
    kDuals = 1,
    /// A checkpoint decides what to keep and what to compute again.
    kSelective = 2,
    /// Where and why tensors leave the tape, and where nodes come from, is written down.
    kTrace = 4,
    /// Saved tensors go through a pair of functions, which may put them elsewhere.
    kPacking = 8,
    /// Operators cast their inputs by their policies; see autocast.h.
    kAutocast = 16,
  };

  /// Whether ops are recorded.
  bool grad_enabled = true;
  /// The library's own code runs, whose views the user never sees; see Note [Aliases off the tape].
  bool internal = false;
  /// Inside the forward of a custom layer; see Note [Intermediates].
  bool in_forward = false;
  /// A tensor that wants a gradient left the tape for the host language (numpy) inside this forward.
  bool escaped = false;
  /// New tensors never take part in a recorded operation.
  bool inference = false;
  /// A set of Interceptor.
  std::uint8_t interceptors = 0;
  /// The custom layer whose backward runs and is recorded; null outside.
  const Node* recorded_backward = nullptr;
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Modes modes;
}

inline Modes& modes() noexcept { return detail::modes; }

/// Whether this thread records operations.
inline bool is_grad_enabled() noexcept { return modes().grad_enabled; }
/// Has no effect in inference mode, where nothing is recorded.
inline void set_grad_enabled(bool enabled) noexcept { modes().grad_enabled = enabled && !modes().inference; }
/// Whether this thread is in inference mode.
inline bool is_inference_mode_enabled() noexcept { return modes().inference; }

/// Whether this thread is in a level of forward mode: the one question on the ordinary path.
inline bool duals_active() noexcept { return (modes().interceptors & Modes::kDuals) != 0; }
/// Whether this thread writes down where and why tensors leave the tape, and where nodes come from.
inline bool is_tracing() noexcept { return (modes().interceptors & Modes::kTrace) != 0; }

/// Sets recording for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept : before_(is_grad_enabled()) { set_grad_enabled(enabled); }
  ~GradMode() { set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

/// Nothing is recorded in this scope.
struct NoGrad : GradMode {
  NoGrad() noexcept : GradMode(false) {}
};

/// Nothing is recorded in this scope, in which an operator of the library computes.
class InternalScope {
 public:
  InternalScope() noexcept : grad_before_(modes().grad_enabled), internal_before_(modes().internal) {
    modes().grad_enabled = false;
    modes().internal = true;
  }
  ~InternalScope() {
    modes().grad_enabled = grad_before_;
    modes().internal = internal_before_;
  }
  InternalScope(const InternalScope&) = delete;
  InternalScope& operator=(const InternalScope&) = delete;

 private:
  bool grad_before_;
  bool internal_before_;
};

/// A function of the user's runs in this scope: a hook, say.
class UserScope {
 public:
  UserScope() noexcept : before_(modes().internal) { modes().internal = false; }
  ~UserScope() { modes().internal = before_; }
  UserScope(const UserScope&) = delete;
  UserScope& operator=(const UserScope&) = delete;

 private:
  bool before_;
};

/// Everything is recorded in this scope.
struct EnableGrad : GradMode {
  EnableGrad() noexcept : GradMode(true) {}
};

/// Nothing is recorded in this scope, and the tensors made in it never will be: a recorded operation that would have to
/// save one, and a write into one outside, are RuntimeErrors. `enabled` = false ends such a scope for an inner one.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) noexcept
      : inference_before_(modes().inference), grad_before_(modes().grad_enabled) {
    modes().inference = enabled;
    if (enabled || inference_before_) modes().grad_enabled = !enabled;
  }
  ~InferenceMode() {
    modes().inference = inference_before_;
    modes().grad_enabled = grad_before_;
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool inference_before_;
  bool grad_before_;
};

}  // namespace autograd
}  // namespace lamella
