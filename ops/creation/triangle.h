#pragma once

#include <cstdint>

namespace lamella {

/// Which part of a matrix a triangle is, the diagonal included.
enum class Side : std::uint8_t { Lower, Upper };

/// The columns [first, last) of a row that lie in the triangle that ends at diagonal k.
struct Kept {
  std::int64_t first;
  std::int64_t last;
};
Kept kept_columns(Side side, std::int64_t row, std::int64_t columns, std::int64_t k);

}  // namespace lamella
