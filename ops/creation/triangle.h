#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace lamella
