#pragma once

#include <ranges>
#include <type_traits>

namespace c10 {

/// Returns the integers from 0, or from `begin`, up to `end`.
template <class T>
auto irange(T end) {
  return std::views::iota(T{0}, end < T{0} ? T{0} : end);
}
template <class A, class B>
auto irange(A begin, B end) {
  using T = std::common_type_t<A, B>;
  return std::views::iota(static_cast<T>(begin),
                          static_cast<T>(begin) > static_cast<T>(end) ? static_cast<T>(begin) : static_cast<T>(end));
}

}  // namespace c10
