#include "engine/autograd/anomaly.h"

#include <utility>

#include "engine/autograd/modes.h"
#include "engine/autograd/thread_state.h"
#include "engine/core/error.h"

namespace lamella::autograd {

bool set_tracing(bool enabled) noexcept {
  const bool before = is_tracing();
  std::uint8_t& interceptors = modes().interceptors;
  interceptors = static_cast<std::uint8_t>(enabled ? interceptors | Modes::kTrace : interceptors & ~Modes::kTrace);
  return before;
}

Trace::Trace(bool enabled) noexcept : before_(set_tracing(enabled)) {}
Trace::~Trace() { set_tracing(before_); }

void set_detect_anomaly(bool enabled, const AnomalyChecks& checks) {
  thread_state().anomaly = enabled ? std::make_shared<Anomaly>(checks) : nullptr;
  set_tracing(enabled);
}

std::shared_ptr<Anomaly> detected_anomaly() { return thread_state().anomaly; }

DetectAnomaly::DetectAnomaly(const AnomalyChecks& checks, bool enabled)
    : before_(detected_anomaly()), tracing_before_(is_tracing()) {
  set_detect_anomaly(enabled, checks);
  // Leaving detection off does not end a trace() around it.
  if (tracing_before_) set_tracing(true);
}

DetectAnomaly::~DetectAnomaly() {
  thread_state().anomaly = std::move(before_);
  set_tracing(tracing_before_);
}

NonFinite count_bad(const Tensor& x, const AnomalyChecks& checks) {
  if (!x.defined() || !is_differentiable(x.dtype())) return {};
  const Trace untraced(false);
  const NoGrad no_grad;
  Tensor shown = x;
  while (shown->hidden) {
    const HiddenAxis axis = (*shown->hidden)[0];
    shown = primitives().show_axis(shown, axis.level, axis.size);
  }
  NonFinite bad = primitives().count_nonfinite(shown);
  if (!checks.nan) bad.nan = 0;
  if (!checks.inf) bad.inf = 0;
  return bad;
}

std::string describe_bad(const NonFinite& bad, const Tensor& x) {
  std::string text;
  if (bad.nan) text = str(bad.nan, " NaN");
  if (bad.inf) text += str(text.empty() ? "" : " and ", bad.inf, " infinite");
  const std::int64_t count = bad.nan + bad.inf;
  return str(text, count == 1 ? " value" : " values", " of ", x.numel(), " (", describe(x), ")");
}

}  // namespace lamella::autograd
