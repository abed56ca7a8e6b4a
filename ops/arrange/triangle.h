#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/tensor.h"
#include "ops/creation/creation.h"
#include "ops/op_info.h"

namespace lamella {

/// The half of a matrix that a triangle covers, including the diagonal.
enum class Side : std::uint8_t { Lower, Upper };

/// The columns [first, last) of a row that lie in the triangle bounded by diagonal k.
struct Kept {
  std::int64_t first;
  std::int64_t last;
};
inline Kept kept_columns(Side side, std::int64_t row, std::int64_t columns, std::int64_t k) {
  // Diagonals beyond the matrix all keep the same elements.
  const std::int64_t diagonal = std::clamp(k, -row - 1, columns);
  if (side == Side::Lower) return {0, std::clamp<std::int64_t>(row + diagonal + 1, 0, columns)};
  return {std::clamp<std::int64_t>(row + diagonal, 0, columns), columns};
}

struct Tril {
  static constexpr OpInfo info{.name = "tril",
                               .doc = "The lower triangles of the matrices in the last two axes: 0 above diagonal k.",
                               .parameters = "x, /, *, k=0",
                               .example = "tril(ones([3, 3]))",
                               .reference = "np.tril(x, k)",
                               .out = true,
                               .in_place = true};
  static Tensor call(const Tensor& x, DiagonalNumber k);
  static void into(const Tensor& x, DiagonalNumber k);
};

struct Triu {
  static constexpr OpInfo info{.name = "triu",
                               .doc = "The upper triangles of the matrices in the last two axes: 0 below diagonal k.",
                               .parameters = "x, /, *, k=0",
                               .example = "triu(ones([3, 3]))",
                               .reference = "np.triu(x, k)",
                               .out = true,
                               .in_place = true};
  static Tensor call(const Tensor& x, DiagonalNumber k);
  static void into(const Tensor& x, DiagonalNumber k);
};

inline Tensor tril(const Tensor& x, std::int64_t k = 0) { return Tril::call(x, k); }
inline Tensor triu(const Tensor& x, std::int64_t k = 0) { return Triu::call(x, k); }

}  // namespace lamella
