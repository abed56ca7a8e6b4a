#include "engine/autograd/recording/aliases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/autograd/graph/holders.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/core/listed.h"
#include "engine/core/modes.h"
#include "engine/core/physical_layout.h"

namespace lamella::autograd {
namespace {

/// Calls f with the address of each element.
template <class F>
void for_each_place(const TensorImpl& x, F&& f) {
  const auto [shape, strides] = PhysicalLayout(x);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype));
  const std::int64_t count = count_elements(shape);
  Dims at(shape.size(), 0);
  const char* place = x.data;
  for (std::int64_t i = 0; i < count; ++i) {
    f(place);
    for (std::size_t k = shape.size(); k-- > 0;) {
      place += strides[k] * item;
      if (++at[k] < shape[k]) break;
      place -= shape[k] * strides[k] * item;
      at[k] = 0;
    }
  }
}

/// True if a byte belongs to both tensors; assumed without a look for large ones whose extents meet.
bool share_elements(const TensorImpl& a, const TensorImpl& b) {
  if (a.elements == 0 || b.elements == 0) return false;
  if (!a.data || !b.data) return true;  // on meta every place is the same
  const MemoryExtent one(a);
  const MemoryExtent other(b);
  if (!one.meets(other)) return false;
  constexpr std::int64_t kFew = 1 << 20;
  const std::int64_t reach = one.high - one.low;
  if (a.contiguous && b.contiguous) return true;
  if (reach > kFew || a.elements > kFew || b.elements > kFew) return true;
  std::vector<bool> touched(static_cast<std::size_t>(reach));
  const auto item = static_cast<std::int64_t>(item_size(a.dtype));
  for_each_place(a, [&](const char* place) {
    for (std::int64_t k = 0; k < item; ++k) touched[static_cast<std::size_t>(place - one.low + k)] = true;
  });
  bool meet = false;
  const auto other_item = static_cast<std::int64_t>(item_size(b.dtype));
  for_each_place(b, [&](const char* place) {
    for (std::int64_t k = 0; k < other_item; ++k) {
      const std::int64_t at = place - one.low + k;
      meet |= at >= 0 && at < reach && touched[static_cast<std::size_t>(at)];
    }
  });
  return meet;
}

bool is_detached(const Tensor& x) noexcept { return (root_of(x)->flags & TensorImpl::kDetached) != 0; }

/// Calls f with each holder other than x's own that holds elements of x, and its kind. Leaves are left out where x was
/// made by detach().
template <class F>
void for_each_other_holder(const Tensor& x, F&& f) {
  const TensorImpl* const root = root_of(x);
  lamella::detail::for_each_listed(*x->storage, [&](TensorImpl& holder) {
    if (&holder == root) return;
    const Holding holding = holding_of(holder);
    if (holding == Holding::Nothing || (holding == Holding::Leaf && is_detached(x))) return;
    if (share_elements(*x.impl(), holder)) f(holder, holding);
  });
}

Holding other_holding(const Tensor& x) {
  Holding found = Holding::Nothing;
  for_each_other_holder(x, [&](const TensorImpl&, Holding holding) { found = holding; });
  return found;
}

/// Node of tensors whose values were changed through detach(): no operation computed what they hold now.
class WrittenPast final : public Node {
 public:
  explicit WrittenPast(const char* op) : op_(op), line_(current_source_line()) {}
  std::string name() const override { return "overwritten"; }
  TensorList run(TensorList grads) override {
    // Passes gradients on where each operation behind has saved what was overwritten, as their errors tell more than
    // this one.
    const bool told = std::ranges::all_of(edges(), [](const Edge& edge) {
      bool overwritten = false;
      if (edge && edge.node->context()) {
        edge.node->context()->for_each_saved([&](const SavedTensor& saved) { overwritten |= saved.is_overwritten(); });
      }
      return overwritten;
    });
    if (told) return grads;
    fail<RuntimeError>("[backward] a tensor on the tape was overwritten by ", op_, line_ ? " at " : "",
                       line_ ? line_.file : "", line_ ? ":" : "", line_ ? std::to_string(line_.line) : std::string(),
                       " through detach(), of which its gradient does not know. Write under no_grad() where that is "
                       "meant, or into a copy (clone())");
  }

 private:
  const char* op_;
  SourceLine line_;
};

/// Gives the holders of x's elements a place whose gradient is an error.
void lose_places(const char* op, const Tensor& x) {
  auto* const written = new WrittenPast(op);
  const Ref<Node> node = Ref<Node>::adopt(written);
  const auto is_lost = [](const AutogradMeta& meta) {
    return dynamic_cast<const WrittenPast*>(meta.grad_fn.get()) != nullptr;
  };
  std::uint32_t count = 0;
  for_each_other_holder(x, [&](TensorImpl& holder, Holding) {
    AutogradMeta& meta = *holder.meta.load(std::memory_order_acquire);
    if (is_lost(meta)) return;
    // Frees nothing under the lock, as the node has the old place as an edge.
    written->add_edge({std::exchange(meta.grad_fn, node), std::exchange(meta.output_nr, count++)});
    meta.kept_output = false;
  });
  written->set_output_count(count);
  x->storage->history.fetch_add(1, std::memory_order_acq_rel);
}

const char* way_of(const Tensor& x) {
  if (is_detached(x)) return "detach()";
  if (root_of(x)->flags & TensorImpl::kView) {
    return "a view made under no_grad(), inference_mode() or set_grad_enabled(False), or in a layer's forward";
  }
  return "a view, or a layer that kept this one and returned the other";
}

}  // namespace

void follow_view(const Tensor& x, const Tensor& view) {
  if (!track_view(x, view) || !duals_active()) [[likely]]
    return;
  note_dual_writes(base_of(view), view);
}

void track_unrecorded(std::span<const Tensor* const> inputs, const Tensor& y) {
  if (const Tensor* const shown = shown_input(inputs, y)) follow_view(*shown, y);
}

void note_unrecorded_view(std::span<const Tensor* const> inputs, const Tensor& y) {
  const Tensor* const shown = shown_input(inputs, y);
  if (!shown) return;
  y->flags |= (*shown)->flags & TensorImpl::kDetached;
  note_holder(*shown);
}

void check_holders(const char* op, const Tensor& x) {
  const Holding holding = other_holding(x);
  if (holding == Holding::Nothing) return;
  if (holding == Holding::Result && is_detached(x)) return lose_places(op, x);
  fail<RuntimeError>(
      "[", op, "] this tensor shares its memory with another through ", way_of(x), "; that one ",
      holding == Holding::Leaf ? "is a leaf that wants a gradient" : "was computed from tensors that want a gradient",
      ": the write would change its value, and its gradient would not know. Write under no_grad() where "
      "that is meant, or work on a copy (clone())");
}

bool shows_holder(const Tensor& x) {
  return x->storage->has_mark(Storage::kDeparted) && other_holding(x) != Holding::Nothing;
}

}  // namespace lamella::autograd
