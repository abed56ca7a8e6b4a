#pragma once

#include <cstdint>

namespace lamella {

class Node;

namespace autograd {

/// Per-thread modes of the tape.
struct Modes {
  /// Features that observe every call of an operator on this thread. An ordinary call checks once whether there is any.
  enum Interceptor : std::uint8_t {
    /// Computes tangents beside values: forward mode.
    kDuals = 1,
    /// A checkpoint decides which results to keep and which to recompute.
    kSelective = 2,
    /// Records where and why tensors leave the tape, and where nodes come from.
    kTrace = 4,
    /// Passes saved tensors through a pair of functions, which may store them elsewhere.
    kPacking = 8,
    /// Operators cast their inputs by their policies; see autocast.h.
    kAutocast = 16,
    /// Calls are recorded as nodes of a graph; see capture.h.
    kCapture = 32,
  };

  /// True if operations are recorded.
  bool grad_enabled = true;
  /// True while library code runs whose views the user never sees; see Note [Aliases off the tape].
  bool internal = false;
  /// True inside the forward of a custom layer; see Note [Intermediates].
  bool in_forward = false;
  /// True if a tensor that requires a gradient left the tape for the host language (numpy) inside this forward.
  bool escaped = false;
  /// True if new tensors never take part in a recorded operation.
  bool inference = false;
  /// Bit mask of Interceptor.
  std::uint8_t interceptors = 0;
  /// The custom layer whose backward runs and is recorded, or null.
  const Node* recorded_backward = nullptr;
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Modes modes;
}

inline Modes& modes() noexcept { return detail::modes; }

/// True if this thread records operations.
inline bool is_grad_enabled() noexcept { return modes().grad_enabled; }
/// Sets whether operations are recorded; has no effect in inference mode.
inline void set_grad_enabled(bool enabled) noexcept { modes().grad_enabled = enabled && !modes().inference; }
/// True if this thread is in inference mode.
inline bool is_inference_mode_enabled() noexcept { return modes().inference; }

/// True if this thread is in a level of forward mode. On the ordinary path nothing more is asked about tangents.
inline bool duals_active() noexcept { return (modes().interceptors & Modes::kDuals) != 0; }
/// True if this thread notes where and why tensors leave the tape, and where nodes come from.
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

/// A scope in which nothing is recorded.
struct NoGrad : GradMode {
  NoGrad() noexcept : GradMode(false) {}
};

/// A scope in which nothing is recorded because an operator of the library computes.
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

/// A scope in which a function of the user's runs, such as a hook.
class UserScope {
 public:
  UserScope() noexcept : before_(modes().internal) { modes().internal = false; }
  ~UserScope() { modes().internal = before_; }
  UserScope(const UserScope&) = delete;
  UserScope& operator=(const UserScope&) = delete;

 private:
  bool before_;
};

/// A scope in which everything is recorded.
struct EnableGrad : GradMode {
  EnableGrad() noexcept : GradMode(true) {}
};

/// A scope in which nothing is recorded and new tensors never will be: a recorded operation that would save one, and a
/// write into one outside of the scope, throw RuntimeError. `enabled` = false ends such a scope for an inner one.
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
