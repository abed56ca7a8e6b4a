#include "engine/autograd/trace/anomaly.h"

#include <utility>

#include "engine/autograd/graph/origin.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {

namespace {

void set_trace_bit(bool enabled) noexcept {
  std::uint8_t& interceptors = modes().interceptors;
  interceptors = static_cast<std::uint8_t>(enabled ? interceptors | Modes::kTrace : interceptors & ~Modes::kTrace);
}

/// Switches tracing off for a scope, as the library's own operations leave no trace.
class Untraced {
 public:
  Untraced() noexcept : before_(is_tracing()) { set_trace_bit(false); }
  ~Untraced() { set_trace_bit(before_); }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  bool before_;
};

}  // namespace

bool set_tracing(bool enabled) noexcept {
  const bool before = is_tracing();
  if (enabled && !before) {
    observe_new_nodes(note_origin);
    forget_escapes();
  }
  set_trace_bit(enabled);
  return before;
}

Trace::Trace(bool enabled) noexcept : before_(set_tracing(enabled)) {}
Trace::~Trace() { set_tracing(before_); }

void set_detect_anomaly(bool enabled, const AnomalyChecks& checks) {
  std::shared_ptr<Anomaly>& anomaly = thread_state().anomaly;
  const bool traced_before = anomaly ? anomaly->traced_before() : is_tracing();
  anomaly = enabled ? std::make_shared<Anomaly>(checks, traced_before) : nullptr;
  set_tracing(enabled || traced_before);
}

std::shared_ptr<Anomaly> detected_anomaly() { return thread_state().anomaly; }

TracingState tracing_state() { return {is_tracing(), detected_anomaly()}; }

void set_tracing_state(TracingState state) {
  set_tracing(state.tracing);
  thread_state().anomaly = std::move(state.anomaly);
}

DetectAnomaly::DetectAnomaly(const AnomalyChecks& checks, bool enabled) : before_(tracing_state()) {
  set_detect_anomaly(enabled, checks);
}

DetectAnomaly::~DetectAnomaly() { set_tracing_state(std::move(before_)); }

NonFinite count_bad(const Tensor& x, const AnomalyChecks& checks) {
  if (!x.defined() || !is_differentiable(x.dtype())) return {};
  const Untraced untraced;
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
