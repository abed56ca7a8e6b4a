#include <algorithm>

#include "engine/runtime/parallel.h"
#include "ops/linalg/gemm.h"
#include "ops/nn/conv_problem.h"
#include "ops/reduce/reduce.h"
#include "ops/support/strided.h"
#include "ops/support/transposed.h"

// Note [Pointwise convolutions]
// A kernel of one element multiplies the channels of every position by the same matrix: w [o, c] by x [n, c,
// positions]. As products these take half to nine tenths of the time of oneDNN's convolutions, which move x and y into
// an order of their own and back, unless there are few positions.

namespace lamella::detail {
namespace {

/// Positions of an image from which on products are faster.
constexpr std::int64_t kManyPositions = 128;

Tensor reshaped(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
  const Dims shape(sizes);
  return make_view(x, shape, contiguous_strides(shape));
}

/// Adds to each row of y [n, o, positions] the number of its channel.
void add_along_rows(const Tensor& y, const float* added) {
  const std::int64_t channels = y.size(1);
  const std::int64_t positions = y.size(2);
  auto* const data = y.data<float>();
  const std::int64_t grain = std::max<std::int64_t>(1, kElementGrain / positions);
  parallel_for(0, y.size(0) * channels, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const float number = added[row % channels];
      float* const to = data + row * positions;
      for (std::int64_t i = 0; i < positions; ++i) to[i] += number;
    }
  });
}

}  // namespace

bool is_pointwise(const ConvProblem& problem) {
  const auto all = [](const Dims& numbers, std::int64_t wanted) {
    return std::ranges::all_of(numbers, [=](std::int64_t number) { return number == wanted; });
  };
  if (problem.dtype != DType::Float32 || problem.groups != 1 || !all(problem.kernel, 1) || !all(problem.stride, 1) ||
      !all(problem.pad_low, 0) || !all(problem.pad_high, 0))
    return false;
  const std::int64_t positions = windows_of(problem).positions();
  // A weight's gradient is the sum of those of all images, which are not to take more memory than these.
  const bool fits = problem.n == 1 || problem.c * problem.o <= (problem.c + problem.o) * positions;
  return positions >= kManyPositions && (problem.result != ConvResult::Weight || fits);
}

void pointwise_conv(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y, const char* op) {
  const std::int64_t positions = windows_of(problem).positions();
  const Tensor images = reshaped(x, {problem.n, problem.c, positions});
  const Tensor results = reshaped(y, {problem.n, problem.o, positions});
  const Tensor weights = reshaped(w, {problem.o, problem.c});
  switch (problem.result) {
    case ConvResult::Output:
      write_product(weights, images, {}, results, op);
      if (problem.bias) add_along_rows(results, static_cast<const float*>(problem.bias));
      return;
    case ConvResult::Input:
      return write_product(matrices_transposed(weights), results, {}, images, op);
    case ConvResult::Weight: {
      const Tensor each = problem.n == 1 ? reshaped(w, {1, problem.o, problem.c})
                                         : empty({problem.n, problem.o, problem.c}, problem.dtype);
      write_product(results, matrices_transposed(images), {}, each, op);
      if (problem.n > 1) write_values(weights, reduce(cpu::Reduction::Sum, each, {0}, false, op), op);
    }
  }
}

}  // namespace lamella::detail
