#pragma once

// PyTorch's functions that look for values: unique ones, counts, places in an order, distances.

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "ATen/MoreFunctions.h"

namespace at {

namespace detail {
/// Returns values, places of the elements among them, and counts; what was not wanted is empty, as in PyTorch.
inline std::tuple<Tensor, Tensor, Tensor> with_empty(const Tensor& x, const std::vector<lamella::Tensor>& made,
                                                     bool inverse, bool counts) {
  const Tensor none = empty({0}, TensorOptions(kLong).device(x.device()));
  return {made[0], inverse ? Tensor(made[1]) : none, counts ? Tensor(made.back()) : none};
}
}  // namespace detail

inline std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool sorted = true, bool return_inverse = false,
                                                   bool return_counts = false) {
  return detail::with_empty(x, lamella::unique(x, sorted, return_inverse, return_counts), return_inverse,
                            return_counts);
}
inline std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool sorted = true, bool return_inverse = false) {
  const auto [values, inverse, counts] = _unique2(x, sorted, return_inverse);
  return {values, inverse};
}
inline std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, std::int64_t axis, bool sorted = true,
                                                     bool return_inverse = false, bool return_counts = false) {
  return detail::with_empty(x, lamella::unique(x, sorted, return_inverse, return_counts, axis), return_inverse,
                            return_counts);
}
inline std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse = false,
                                                             bool return_counts = false,
                                                             std::optional<std::int64_t> axis = std::nullopt) {
  return detail::with_empty(x, lamella::UniqueConsecutive::call(x, return_inverse, return_counts, axis), return_inverse,
                            return_counts);
}
inline Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights = std::nullopt, std::int64_t least = 0) {
  return lamella::bincount(x, detail::given(weights), least);
}
inline Tensor searchsorted(const Tensor& order, const Tensor& x, bool out_int32 = false, bool right = false,
                           std::optional<std::string_view> side = std::nullopt,
                           const std::optional<Tensor>& sorter = std::nullopt) {
  const Tensor places = lamella::searchsorted(order, x, side.value_or(right ? "right" : "left"), detail::given(sorter));
  return out_int32 ? places.to(kInt) : places;
}
inline Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32 = false, bool right = false) {
  const Tensor places = lamella::Bucketize::call(x, boundaries, right);
  return out_int32 ? places.to(kInt) : places;
}
inline Tensor isin(const Tensor& x, const Tensor& among, bool /*assume_unique*/ = false, bool invert = false) {
  return lamella::isin(x, among, invert);
}
inline Tensor cdist(const Tensor& a, const Tensor& b, double p = 2,
                    std::optional<std::int64_t> /*compute_mode*/ = std::nullopt) {
  return lamella::Cdist::call(a, b, p);
}
inline Tensor pdist(const Tensor& x, double p = 2) { return lamella::Pdist::call(x, p); }

}  // namespace at
