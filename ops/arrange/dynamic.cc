#include "ops/arrange/dynamic.h"

#include <algorithm>

#include "ops/index/index.h"
#include "ops/index/picks.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns the integers that a tensor holds.
Dims integers_of(const Tensor& x, std::string_view argument, const char* op) {
  check_defined(x, op);
  if (is_batched(x)) {
    fail<RuntimeError>("[", op, "] under vmap ", argument,
                       " must be the same for all examples: otherwise the result has no shape");
  }
  const Tensor numbers = contiguous(to_device(as_index(x, op), kCPU));
  const auto* const from = numbers.data<std::int64_t>();
  Dims result;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) result.push_back(from[i]);
  return result;
}

std::int64_t integer_in(const Operand& x, const char* argument, const char* op) {
  if (x.is_number()) {
    if (x.number().kind() != Scalar::Kind::Int) fail<TypeError>("[", op, "] ", argument, " must be an integer");
    return x.number().to<std::int64_t>();
  }
  const Dims numbers = integers_of(x.tensor(), argument, op);
  if (numbers.size() != 1)
    fail<ValueError>("[", op, "] ", argument, " must be one integer, got shape ", x.tensor().shape());
  return numbers[0];
}

}  // namespace

Dims sizes_in(const Tensor& sizes, const char* op) {
  if (sizes.defined() && sizes.ndim() != 1)
    fail<ValueError>("[", op, "] sizes must be a vector of integers, got shape ", sizes.shape());
  return integers_of(sizes, "sizes", op);
}

Tensor ShapeOf::call(const Tensor& x) {
  check_defined(x, info.name);
  const Tensor sizes = empty({static_cast<std::int64_t>(x.ndim())}, DType::Int64);
  std::ranges::copy(x.shape(), sizes.data<std::int64_t>());
  return sizes;
}

Tensor DynamicShape::call(const std::vector<Tensor>& sizes, const Dims& shape) {
  if (std::ranges::count(shape, -2) != std::ssize(sizes))
    fail<ValueError>("[dynamic_shape] the shape ", shape, " has not a -2 for each of ", sizes.size(), " sizes");
  const Tensor result = empty({static_cast<std::int64_t>(shape.size())}, DType::Int64);
  auto next = sizes.begin();
  std::ranges::transform(shape, result.data<std::int64_t>(), [&](std::int64_t size) {
    return size == -2 ? integer_in(*next++, "a size", info.name) : size;
  });
  return result;
}

Tensor DynamicReshape::call(const Tensor& x, const Tensor& shape) { return reshape(x, sizes_in(shape, info.name)); }

Tensor DynamicBroadcast::call(const Tensor& x, const Tensor& shape) {
  return broadcast_to(x, sizes_in(shape, info.name));
}

Tensor DynamicSlice::call(const Tensor& x, const Operand& start, const Operand& stop, std::int64_t axis,
                          std::int64_t step) {
  check_defined(x, info.name);
  const Slice part{
      .start = integer_in(start, "start", info.name), .stop = integer_in(stop, "stop", info.name), .step = step};
  IndexItems items(static_cast<std::size_t>(normalize_axis(axis, x.ndim(), info.name)), Slice{});
  items.emplace_back(part);
  return index(x, items);
}

}  // namespace lamella
