#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/tensor.h"

// Tensors of any floating or complex dtype as lists of real components: one per real element, two (real, imaginary) per
// complex one, in row-major order.

namespace lamella::autograd {

using Components = std::vector<double>;

inline std::size_t components_per_element(const Tensor& x) { return is_complex(x.dtype()) ? 2 : 1; }
inline std::size_t component_count(const Tensor& x) {
  return static_cast<std::size_t>(x.numel()) * components_per_element(x);
}

/// Returns all components of x.
Components components_of(const Tensor& x);
/// Returns a contiguous tensor with the shape, dtype and device of x and these components.
Tensor from_components(const Components& values, const Tensor& x);
/// Returns a copy of x, off the tape, with the layout of x (elements that share memory are separated).
Tensor copy_in_layout(const Tensor& x);
/// Adds `steps`, one per component, to x in place.
void add_to_components(const Tensor& x, const Components& steps);
/// Returns `value` rounded as a component of this dtype.
double rounded(double value, DType dtype);
/// Returns "[1, 0]" for an element of x, nothing for a 0-d tensor; followed by ".real" or ".imag" for a complex one.
std::string component_name(const Tensor& x, std::size_t component);
/// Returns reproducible numbers in [low, low + 1), different ones for each seed.
Components random_components(std::size_t count, std::uint64_t seed, double low);

/// A matrix of doubles, row-major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  Components values;

  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  double& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
  /// Returns the largest magnitude; 0 for an empty matrix. NaN counts as infinite.
  double largest() const;
};

}  // namespace lamella::autograd
