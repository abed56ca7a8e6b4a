#pragma once

#include <numbers>

namespace c10 {
template <class T>
inline constexpr T pi = T(std::numbers::pi);
}  // namespace c10
