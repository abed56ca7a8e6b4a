#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "ops/movement/cast.h"

namespace lamella::testing {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// Returns a tensor with the given values in row-major order.
template <class T>
Tensor tensor_of(const std::vector<T>& values, const Dims& shape) {
  Tensor x = empty(shape, dtype_of<T>);
  EXPECT_EQ(static_cast<std::size_t>(x.numel()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) x.data<T>()[i] = values[i];
  return x;
}
template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  return tensor_of(values, {static_cast<std::int64_t>(values.size())});
}

/// Returns the elements of x in row-major order.
template <class T>
std::vector<T> values(const Tensor& x) {
  const Tensor y = contiguous(x.detach());
  EXPECT_EQ(y.dtype(), dtype_of<T>);
  std::vector<T> result;
  for (std::int64_t i = 0; i < y.numel(); ++i) result.push_back(y.data<T>()[i]);
  return result;
}

/// Returns distinct float64 values in (-range, range), without an order that could hide a wrong index.
inline Tensor sample(const Dims& shape, double range = 2.0, std::uint64_t seed = 1) {
  Tensor x = empty(shape, DType::Float64);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.data<double>()[i] = range * (static_cast<double>(state >> 11) * 0x1p-52 - 1.0);
  }
  return x;
}

/// Runs `body` and expects an E with a message that contains `text`.
template <class E, class Body>
void expect_error(Body&& body, const std::string& text) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown; expected: " << text;
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace lamella::testing
