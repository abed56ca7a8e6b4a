#include "engine/autograd/trace/departure.h"

#include <memory>
#include <mutex>
#include <utility>

#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/core/modes.h"

namespace lamella::autograd {
namespace {

/// Length at which a chain of departures is cut to its first and its last operation.
constexpr std::size_t kMaxLength = 16;

/// Returns the latest departure of values to the host on this thread; null where there was none. A pointer to a
/// pointer, as the room for thread_local objects is small.
std::unique_ptr<const std::shared_ptr<const Departure>>& latest_escape() {
  thread_local std::unique_ptr<const std::shared_ptr<const Departure>> latest;
  return latest;
}

Leaving by_mode(Leaving reason, const Tensor& y) {
  if (reason != Leaving::Mode) return reason;
  if (!is_differentiable(y.dtype())) return Leaving::DType;
  if (modes().inference) return Leaving::Inference;
  if (is_grad_enabled()) return Leaving::NotDifferentiable;
  if (modes().in_forward) return Leaving::Forward;
  return is_in_pass() ? Leaving::Pass : Leaving::NoGrad;
}

void set_departure(const Tensor& x, std::shared_ptr<const Departure> departure) {
  AutogradMeta& meta = make_meta(x);
  const std::lock_guard lock(meta.lock);
  meta.make_extras().departure.swap(departure);  // the old one is freed after the lock
}

std::shared_ptr<Departure> make_departure(std::string_view op, Leaving reason, const Tensor& y) {
  auto made = std::make_shared<Departure>();
  made->op = op;
  made->reason = reason;
  made->line = user_line();
  made->dtype = y.dtype();
  return made;
}

void follow(Departure& after, std::shared_ptr<const Departure> before) {
  if (before->length + 1 >= kMaxLength) {
    // Keeps only the first departure: a loop that runs for long must not keep a chain as long.
    std::size_t skipped = before->length;
    std::shared_ptr<const Departure> first = before;
    for (; first->before; first = first->before) skipped += first->skipped;
    after.skipped = skipped;
    before = std::move(first);
  }
  after.length = before->length + 1;
  after.before = std::move(before);
}

}  // namespace

std::shared_ptr<const Departure> departure_of(const Tensor& x) {
  AutogradMeta* meta = peek_meta(x);
  if (!meta) return {};
  const std::lock_guard lock(meta->lock);
  return meta->extras ? meta->extras->departure : nullptr;
}

void note_departure(std::string_view op, std::span<const Tensor* const> inputs, const Tensor& y, Leaving reason) {
  // Passes over a tensor that is on the tape, or is to go there.
  if (y.requires_grad()) return;
  std::size_t earlier = inputs.size();
  std::shared_ptr<const Departure> before;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = *inputs[i];
    if (!x.defined() || x.same(y)) continue;
    if (wants_gradient(x)) {
      set_departure(y, make_departure(op, by_mode(reason, y), y));
      return;
    }
    if (before) continue;
    before = departure_of(x);
    if (before) earlier = i;
  }
  if (!before) return;
  const auto made = make_departure(op, Leaving::Earlier, y);
  made->input = earlier;
  follow(*made, std::move(before));
  set_departure(y, made);
}

void note_gradient(const Node& node, const Tensor& grad) {
  if (is_grad_enabled() || !grad.defined() || grad->use_count() != 1 || !is_unplaced(grad)) return;
  set_departure(grad, make_departure(node.name(), Leaving::Pass, grad));
}

void note_overwritten(const Tensor& x) {
  if (!x.requires_grad()) return;
  const WriteRecord write = x->storage->last_write();
  auto made = make_departure(write.op ? write.op : "write", Leaving::Overwritten, x);
  set_departure(x, std::move(made));
}

void note_escape_to_host(const Tensor& x) {
  std::shared_ptr<const Departure> before = departure_of(x);
  if (!before && !x.requires_grad() && !(x->flags & TensorImpl::kDerived)) return;
  auto made = make_departure("", Leaving::Host, x);
  if (before && !x.requires_grad()) follow(*made, std::move(before));
  latest_escape() = std::make_unique<const std::shared_ptr<const Departure>>(std::move(made));
}

void forget_escapes() noexcept { latest_escape() = nullptr; }

void note_made_by_host(const Tensor& x) {
  if (!latest_escape() || !is_differentiable(x.dtype())) return;
  const auto made = make_departure("", Leaving::Host, x);
  follow(*made, *latest_escape());
  set_departure(x, made);
}

}  // namespace lamella::autograd
