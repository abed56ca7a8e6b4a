#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Sort {
  static constexpr OpInfo info{.name = "sort",
                               .doc =
                                   "The elements along an axis in ascending order, or descending; equal ones keep "
                                   "their order. NaN is larger than "
                                   "all numbers: last in ascending order, first in descending. The gradient goes back "
                                   "to where the elements were.",
                               .parameters = "x, /, *, axis=-1, descending=False, stable=True",
                               .example = "sort(asarray([3, 1, 2]), descending=True)",
                               .reference = "np.sort(x, axis)",
                               .dtypes = Real | Boolean,
                               .out = true};
  static Tensor call(const Tensor& x, std::int64_t axis, bool descending, bool stable);
};

struct ArgSort {
  static constexpr OpInfo info{.name = "argsort",
                               .doc =
                                   "The positions (int64) at which the elements of sort(x) stand in x: "
                                   "take_along_axis(x, argsort(x)) is sort(x).",
                               .parameters = "x, /, *, axis=-1, descending=False, stable=True",
                               .example = "argsort(asarray([3, 1, 2]))",
                               .reference = "np.argsort(x, axis, stable=True)",
                               .dtypes = Real | Boolean,
                               .out = true};
  static Tensor call(const Tensor& x, std::int64_t axis, bool descending, bool stable);
};

struct TopK {
  static constexpr OpInfo info{.name = "topk",
                               .doc =
                                   "The k largest elements along an axis (or the smallest), and their positions "
                                   "(int64): in order where `sorted` "
                                   "is set, of equal elements the first ones. NaN is larger than all numbers. The "
                                   "gradient goes back to where the "
                                   "elements were.",
                               .parameters = "x, k, /, axis=-1, largest=True, sorted=True",
                               .example = "topk(arange(5), 2)",
                               .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"values", "indices"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest, bool sorted);
};

struct KthValue {
  static constexpr OpInfo info{
      .name = "kthvalue",
      .doc =
          "The k-th smallest element along an axis, counted from 1, and its position (int64). NaN is larger than all "
          "numbers. The gradient goes back to where the element was.",
      .parameters = "x, k, /, axis=-1, keepdims=False",
      .example = "kthvalue(arange(5), 2)",
      .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"values", "indices"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t k, std::int64_t axis, bool keepdims);
};

struct ModeValue {
  static constexpr OpInfo info{
      .name = "mode",
      .doc =
          "The most frequent element along an axis, of several the smallest, and the position (int64) of the first of "
          "those that are equal. Each NaN is a value of its own. The gradient goes back to that place.",
      .parameters = "x, /, axis=-1, keepdims=False",
      .example = "mode(asarray([3, 1, 3]))",
      .dtypes = Real | Boolean};
  static constexpr const char* kFields[] = {"values", "indices"};
  /// Throws ValueError for an axis of length 0.
  static std::vector<Tensor> call(const Tensor& x, std::int64_t axis, bool keepdims);
};

inline Tensor sort(const Tensor& x, std::int64_t axis = -1, bool descending = false, bool stable = true) {
  return Sort::call(x, axis, descending, stable);
}
inline Tensor argsort(const Tensor& x, std::int64_t axis = -1, bool descending = false, bool stable = true) {
  return ArgSort::call(x, axis, descending, stable);
}
inline std::vector<Tensor> topk(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
                                bool sorted = true) {
  return TopK::call(x, k, axis, largest, sorted);
}
inline std::vector<Tensor> mode(const Tensor& x, std::int64_t axis = -1, bool keepdims = false) {
  return ModeValue::call(x, axis, keepdims);
}
inline std::vector<Tensor> kthvalue(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool keepdims = false) {
  return KthValue::call(x, k, axis, keepdims);
}

}  // namespace lamella
