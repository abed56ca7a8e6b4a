#include "ops/distributed/form.h"

#include <numeric>
#include <utility>

#include "engine/core/error.h"

namespace lamella::distributed {
namespace {

std::int64_t total(const Dims& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }

std::int64_t& at(Dims& shape, std::int64_t axis) {
  return shape[static_cast<std::size_t>(static_cast<std::int64_t>(shape.size()) + axis)];
}

}  // namespace

const char* Form::name() const {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                    "gather",     "scatter",    "all_to_all",     "send",      "recv"};
  return kNames[static_cast<std::size_t>(pattern)];
}

Form Form::transposed() const {
  constexpr Pattern kTransposed[] = {Pattern::AllReduce, Pattern::ReduceScatter, Pattern::AllGather, Pattern::Reduce,
                                     Pattern::Broadcast, Pattern::Scatter,       Pattern::Gather,    Pattern::AllToAll,
                                     Pattern::Receive,   Pattern::Send};
  Form form = *this;
  form.pattern = kTransposed[static_cast<std::size_t>(pattern)];
  if (pattern == Pattern::AllToAll) {
    std::swap(form.axis, form.joined_axis);
    std::swap(form.sizes, form.received);
  }
  return form;
}

Dims Form::result_shape(const Tensor& x) const {
  Dims result = x.shape();
  const auto own = static_cast<std::size_t>(group->rank() < 0 ? 0 : group->rank());
  switch (pattern) {
    case Pattern::AllGather:
    case Pattern::Gather:
      at(result, axis) = total(sizes);
      break;
    case Pattern::ReduceScatter:
    case Pattern::Scatter:
      at(result, axis) = sizes[own];
      break;
    case Pattern::AllToAll:
      at(result, axis) = sizes[own];
      at(result, joined_axis) = total(received);
      break;
    case Pattern::Send:
      result = {};
      break;
    default:
      break;
  }
  return result;
}

std::string Form::describe(const Tensor& x) const {
  // The size along the axis of the split or joint differs between processes by right.
  const bool joins = pattern == Pattern::AllGather || pattern == Pattern::Gather || pattern == Pattern::AllToAll;
  std::string shape;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const std::int64_t from_end = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(x.ndim());
    const bool free = joins && from_end == (pattern == Pattern::AllToAll ? joined_axis : axis);
    shape += (i == 0 ? "" : ", ") + (free ? std::string("*") : std::to_string(x.shape()[i]));
  }
  std::string text = str(lamella::name(x.dtype()), " [", shape, "]");
  if (!x.device().is_cpu()) text += " on " + x.device().str().substr(0, x.device().str().find(':'));
  const auto axis_of = [&](std::int64_t a) { return a + static_cast<std::int64_t>(x.ndim()); };
  switch (pattern) {
    case Pattern::AllReduce:
      return text + str(", op=", mean ? "mean" : distributed::name(op));
    case Pattern::ReduceScatter:
      return text + str(", op=", mean ? "mean" : distributed::name(op), ", axis=", axis_of(axis), ", sizes=", sizes);
    case Pattern::AllGather:
      return text + str(", axis=", axis_of(axis), ", sizes=", sizes);
    case Pattern::Broadcast:
    case Pattern::Reduce:
      return text + str(", root=", root);
    case Pattern::Gather:
    case Pattern::Scatter:
      return text + str(", root=", root, ", axis=", axis_of(axis), ", sizes=", sizes);
    case Pattern::AllToAll:
      return text + str(", split_axis=", axis_of(axis), ", concat_axis=", axis_of(joined_axis));
    default:
      return text;
  }
}

}  // namespace lamella::distributed
