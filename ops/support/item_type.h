#pragma once

#include <array>
#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// Calls f.operator()<T>() with a type of the item size of `dtype`, for code that moves elements without computing. T()
/// is all zero bits.
template <class F>
decltype(auto) visit_item(DType dtype, F&& f) {
  switch (item_size(dtype)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    case 8:
      return f.template operator()<std::uint64_t>();
    default:
      return f.template operator()<std::array<std::uint64_t, 2>>();
  }
}

}  // namespace lamella
