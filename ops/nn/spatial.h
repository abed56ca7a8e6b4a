#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"

namespace lamella {

/// The padding of a convolution: amounts on both sides of each axis, or as much as preserves the sizes ("same").
struct Padding {
  Dims amounts;
  bool same = false;

  Padding(std::int64_t amount = 0) : amounts{amount} {}
  Padding(Dims amounts) : amounts(std::move(amounts)) {}
};

/// The number of windows of an adaptive pool: one number per spatial axis, or one for all. Without a number an axis
/// keeps its size.
struct OutputSize {
  std::vector<std::optional<std::int64_t>> numbers;

  OutputSize(std::int64_t number) : numbers{number} {}
  OutputSize(const Dims& given) : numbers(given.begin(), given.end()) {}
  OutputSize(std::vector<std::optional<std::int64_t>> given) : numbers(std::move(given)) {}
  OutputSize(std::initializer_list<std::optional<std::int64_t>> given) : numbers(given) {}

  /// Returns the numbers for axes of the sizes `own`, unchecked.
  Dims of(DimsView own) const;
};

/// Returns one number per spatial axis (`axes` of them); a single number is repeated. Throws ValueError that names
/// `argument` for another count, or a number below `lowest` or beyond 32 bits.
Dims spatial_numbers(const Dims& given, std::size_t axes, std::int64_t lowest, const char* op, const char* argument);

/// Returns x with a batch axis of size 1 in front if it is a single example, which has `axes` spatial axes and one of
/// channels. Throws ValueError for any other number of axes.
Tensor with_batch_axis(const Tensor& x, std::size_t axes, const char* op);
/// Returns `y` without its batch axis if x has none.
Tensor without_batch_axis(const Tensor& y, const Tensor& x);

/// Returns the sizes behind the first two axes.
inline Dims spatial_sizes(const Tensor& x) { return Dims(x.shape().begin() + 2, x.shape().end()); }

}  // namespace lamella
