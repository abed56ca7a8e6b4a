#pragma once

// PyTorch's functions of matrices and grids, under the names of its modules.

#include <vector>

#include "ATen/MoreFunctions.h"

namespace at {

inline Tensor inverse(const Tensor& x) { return lamella::linalg::inv(x); }
inline Tensor linalg_inv(const Tensor& x) { return lamella::linalg::inv(x); }
inline Tensor det(const Tensor& x) { return lamella::linalg::det(x); }
inline Tensor linalg_det(const Tensor& x) { return lamella::linalg::det(x); }
inline Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left = true) {
  return lamella::linalg::solve(a, b, left);
}
inline Tensor linalg_cross(const Tensor& a, const Tensor& b, std::int64_t axis = -1) { return a.cross(b, axis); }
inline Tensor kron(const Tensor& a, const Tensor& b) { return lamella::kron(a, b); }
inline Tensor ger(const Tensor& a, const Tensor& b) { return lamella::outer(a, b); }
/// Makes the axes of a grid; in the order of the tensors ("ij") unless said otherwise.
inline std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij") {
  const std::vector<lamella::Tensor> made = lamella::meshgrid(native_list(tensors), indexing);
  return {made.begin(), made.end()};
}
inline std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  const std::vector<lamella::Tensor> made = lamella::broadcast_arrays(native_list(tensors));
  return {made.begin(), made.end()};
}
inline Tensor logaddexp(const Tensor& a, const Tensor& b) { return lamella::logaddexp(a, b); }
inline Tensor xlogy(const Tensor& a, const Tensor& b) { return lamella::xlogy(a, b); }

}  // namespace at
