#pragma once

#include <memory>
#include <string>

#include "engine/autograd/graph/primitives.h"

namespace lamella::autograd {

/// Values that detect_anomaly looks for.
struct AnomalyChecks {
  /// Refuse a gradient with a NaN in it.
  bool nan = true;
  /// Refuse a gradient with an infinity in it.
  bool inf = true;
  /// Refuse such values also in results of recorded operations, as soon as they are computed.
  bool forward = false;
};

/// Checks of a thread that is in detect_anomaly.
class Anomaly {
 public:
  Anomaly(AnomalyChecks checks, bool traced_before) noexcept : checks_(checks), traced_before_(traced_before) {}
  const AnomalyChecks& checks() const noexcept { return checks_; }
  /// True if the thread was tracing when detection was switched on, and goes on when it is switched off.
  bool traced_before() const noexcept { return traced_before_; }

 private:
  AnomalyChecks checks_;
  bool traced_before_;
};

/// Makes this thread, for a scope, note where recorded operations are called, and where and why results leave the tape;
/// explain() and draw() then tell lines.
class Trace {
 public:
  explicit Trace(bool enabled = true) noexcept;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  bool before_;
};

/// Switches anomaly detection on this thread on or off, until it is switched again. A backward pass then throws
/// RuntimeError at the first operation that yields a gradient with NaN or infinity, which names the operation, the
/// gradient and the place of the call; an exception in an operation's backward comes with that place too. Tracing is on
/// with it.
void set_detect_anomaly(bool enabled, const AnomalyChecks& checks = {});
/// Returns this thread's checks; null where there are none.
std::shared_ptr<Anomaly> detected_anomaly();
/// Switches tracing on this thread on or off, and returns whether it was on.
bool set_tracing(bool enabled) noexcept;

/// State that set_detect_anomaly and set_tracing change, to be restored later.
struct TracingState {
  bool tracing = false;
  std::shared_ptr<Anomaly> anomaly;
};
TracingState tracing_state();
void set_tracing_state(TracingState state);

/// Counts the elements of x that the checks object to; none for an undefined tensor.
NonFinite count_bad(const Tensor& x, const AnomalyChecks& checks);
/// Returns a text such as "2 NaN and 1 infinite values of 6 (float32[2, 3] on cpu)".
std::string describe_bad(const NonFinite& bad, const Tensor& x);

/// Calls set_detect_anomaly() for a scope. To learn where an operation was called, the scope must hold the forward
/// calls too.
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
