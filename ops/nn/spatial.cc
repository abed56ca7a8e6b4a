#include "ops/nn/spatial.h"

#include <limits>

#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {

Dims OutputSize::of(DimsView own) const {
  if (numbers.size() == 1 && !numbers[0]) return Dims(own.begin(), own.end());
  Dims result;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    result.push_back(numbers[i].value_or(i < own.size() ? own[i] : 0));
  }
  return result;
}

Dims spatial_numbers(const Dims& given, std::size_t axes, std::int64_t lowest, const char* op, const char* argument) {
  Dims numbers = given;
  if (numbers.size() == 1) numbers = Dims(axes, given[0]);
  if (numbers.size() != axes) {
    fail<ValueError>("[", op, "] ", argument, " takes one number, or one for each of the ", axes, " spatial axes, got ",
                     given);
  }
  for (const std::int64_t number : numbers) {
    if (number < lowest || number > std::numeric_limits<std::int32_t>::max()) {
      fail<ValueError>("[", op, "] ", argument, " must be at least ", lowest, " and fit into 32 bits, got ", given);
    }
  }
  return numbers;
}

Tensor with_batch_axis(const Tensor& x, std::size_t axes, const char* op) {
  check_defined(x, op);
  if (x.ndim() == axes + 2) return x;
  if (x.ndim() == axes + 1) return expand_dims(x, 0);
  fail<ValueError>("[", op, "] x must have ", axes,
                   " spatial axes behind one of channels, and may have one of examples in front: ", axes + 1, " or ",
                   axes + 2, " in all, got the shape ", x.shape());
}

Tensor without_batch_axis(const Tensor& y, const Tensor& x) { return x.ndim() == y.ndim() ? y : squeeze(y, 0); }

}  // namespace lamella
