#pragma once

namespace lamella {

class Node;

namespace autograd {

/// Per-thread switches of the tape.
struct Modes {
  /// Whether ops are recorded.
  bool grad_enabled = true;
  /// Inside the forward of a custom layer; see Note [Intermediates].
  bool in_forward = false;
  /// A tensor that wants a gradient left the tape for the host language (numpy) inside this forward.
  bool escaped = false;
  /// The custom layer whose backward runs and is recorded; null outside.
  const Node* recorded_backward = nullptr;
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local Modes modes;
}

inline Modes& modes() noexcept { return detail::modes; }

/// Whether this thread records operations.
inline bool is_grad_enabled() noexcept { return modes().grad_enabled; }
inline void set_grad_enabled(bool enabled) noexcept { modes().grad_enabled = enabled; }

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

/// Everything is recorded in this scope.
struct EnableGrad : GradMode {
  EnableGrad() noexcept : GradMode(true) {}
};

}  // namespace autograd
}  // namespace lamella
