#pragma once

#include "c10/core/ScalarType.h"

namespace c10 {

/// Converts a number; of a complex one, to a real type, the real part.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_constructible_v<To, From>) {
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value.real());
  }
}

}  // namespace c10
