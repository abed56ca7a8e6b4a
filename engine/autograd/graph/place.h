#pragma once

#include <algorithm>
#include <span>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

// Note [Views]
// A view op that is called while recording is on makes a *tracked* view: it owns a reference to its base, the tensor
// whose memory it shows (never a tracked view itself). A recorded write in place into the base, or into any of its
// tracked views, gives the base a new place on the tape, and counts in the storage's `history`. A tracked view whose
// own `history` is older looks for its place anew when it is next asked: its value is then a part of the base's, which
// its strides and offset alone describe (ViewNode). A write into a view is a write into a part of the base
// (OverwriteNode). So a view costs one more reference and no note, and the op that made it is never run again. Other
// aliases (detach(), results of view ops under no_grad) are constants, as was asked; writes into them are another
// matter: see Note [Aliases off the tape] in aliases.h.

/// True if x is a tracked view whose base was changed by a recorded write in place since x's place was last looked for.
inline bool is_stale(const Tensor& x) noexcept {
  return (x->flags & TensorImpl::kTracked) != 0 &&
         x->history.load(std::memory_order_acquire) != x->storage->history.load(std::memory_order_acquire);
}
/// Finds the place on the tape of a tracked view after a recorded write in place. Any thread may call it.
void refresh_view(const Tensor& view);

/// Returns the tensor's meta with its current place on the tape; null where it has none.
inline AutogradMeta* get_meta(const Tensor& x) {
  if (is_stale(x)) [[unlikely]]
    refresh_view(x);
  return peek_meta(x);
}

/// Returns the edge along which x's gradient flows: to its node, or (for a leaf that wants one) to the node that
/// accumulates it; an empty edge otherwise.
Edge gradient_edge(const Tensor& x);

namespace detail {
bool special_wants_gradient(const Tensor& x);
}

/// True if a recorded op with x as its input needs an edge for it. Asked on the hot path.
[[gnu::always_inline]] inline bool wants_gradient(const Tensor& x) {
  const AutogradMeta* const meta = peek_meta(x);
  const bool tracked = (x->flags & TensorImpl::kTracked) != 0;
  if (!meta && !tracked && !(x->flags & TensorImpl::kDerived)) return false;
  if (meta && !tracked && (meta->requires_grad || meta->grad_fn)) return true;
  return detail::special_wants_gradient(x);
}

/// Makes x, in place, a constant without a place on the tape, as detach() returns one. RuntimeError for a tracked view,
/// whose place is its base's.
void detach_in_place(const Tensor& x);

/// Returns the input of a call whose memory y, another tensor, shows; null where there is none.
inline const Tensor* shown_input(std::span<const Tensor* const> inputs, const Tensor& y) {
  const auto shows = [&](const Tensor* x) { return (*x)->storage == y->storage && !x->same(y); };
  const auto found = std::ranges::find_if(inputs, shows);
  return found == inputs.end() ? nullptr : *found;
}

/// Makes `view`, an alias of x that nobody else holds yet, a tracked view where recording is on, or `always`. Returns
/// true if it became one. See Note [Views].
bool track_view(const Tensor& x, const Tensor& view, bool always = false);
/// Returns the tensor whose memory a tracked view shows.
Tensor base_of(const Tensor& view);

/// Gives x, whose memory now holds other values, the place on the tape that `edge` leads to (an empty one stands for a
/// constant); where x is a tracked view, its base's place follows.
void rebase_history(const Tensor& x, Edge edge);

}  // namespace lamella::autograd
