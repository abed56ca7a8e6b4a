#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>

namespace c10 {

/// Returns the sum of a list of integers.
template <class List>
std::int64_t sum_integers(const List& values) {
  return std::accumulate(std::begin(values), std::end(values), std::int64_t{0});
}
/// Returns the product of a list of integers: 1 if it is empty.
template <class List>
std::int64_t multiply_integers(const List& values) {
  return std::accumulate(std::begin(values), std::end(values), std::int64_t{1}, std::multiplies<>());
}
template <class Iterator>
std::int64_t multiply_integers(Iterator begin, Iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

}  // namespace c10
