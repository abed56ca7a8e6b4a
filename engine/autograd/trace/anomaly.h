#pragma once

#include <memory>
#include <string>

#include "engine/autograd/graph/primitives.h"

namespace lamella::autograd {

/// What detect_anomaly looks for.
struct AnomalyChecks {
  /// A gradient with a NaN in it is an error.
  bool nan = true;
  /// A gradient with an infinity in it is an error.
  bool inf = true;
  /// The same of the results of recorded operations, as soon as they are computed.
  bool forward = false;
};

/// The checks of a thread that is in detect_anomaly.
class Anomaly {
 public:
  Anomaly(AnomalyChecks checks, bool traced_before) noexcept : checks_(checks), traced_before_(traced_before) {}
  const AnomalyChecks& checks() const noexcept { return checks_; }
  /// Whether the thread was tracing when detection was switched on, and goes on when it is switched off.
  bool traced_before() const noexcept { return traced_before_; }

 private:
  AnomalyChecks checks_;
  bool traced_before_;
};

/// While it lives, this thread writes down where recorded operations are called, and where and why results leave the
/// tape; explain() and draw() then tell lines.
class Trace {
 public:
  explicit Trace(bool enabled = true) noexcept;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  bool before_;
};

/// Switches anomaly detection on this thread, until it is switched again: a backward pass then raises RuntimeError at
/// the first operation that yields a gradient with NaN or infinity, which names the operation, the gradient and the
/// place of the call; an exception in an operation's backward comes with that place too. Tracing is on with it.
void set_detect_anomaly(bool enabled, const AnomalyChecks& checks = {});
/// This thread's checks; null where there are none.
std::shared_ptr<Anomaly> detected_anomaly();
/// Switches tracing on this thread, and returns what it was.
bool set_tracing(bool enabled) noexcept;

/// What set_detect_anomaly and set_tracing change, to be put back later.
struct TracingState {
  bool tracing = false;
  std::shared_ptr<Anomaly> anomaly;
};
TracingState tracing_state();
void set_tracing_state(TracingState state);

/// The elements of x that the checks object to; none for an undefined tensor.
NonFinite count_bad(const Tensor& x, const AnomalyChecks& checks);
/// "2 NaN and 1 infinite values of 6 (float32[2, 3] on cpu)"
std::string describe_bad(const NonFinite& bad, const Tensor& x);

/// set_detect_anomaly for a scope. To learn where an operation was called, the scope holds the forward calls too.
class DetectAnomaly {
 public:
  explicit DetectAnomaly(const AnomalyChecks& checks = {}, bool enabled = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  TracingState before_;
};

}  // namespace lamella::autograd
