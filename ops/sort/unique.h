#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct UniqueAll {
  static constexpr OpInfo info{
      .name = "unique_all",
      .doc =
          "The distinct elements of x, flattened, in ascending order: (values, indices, inverse_indices, counts), with "
          "the position of each value's first occurrence, the position of each of x's elements among the values, and "
          "the number of occurrences of each. Each NaN is a distinct value; complex numbers are ordered by real part "
          "first.",
      .example = "unique_all(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "indices", "inverse_indices", "counts"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueCounts {
  static constexpr OpInfo info{.name = "unique_counts",
                               .doc = "The (values, counts) of unique_all.",
                               .example = "unique_counts(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "counts"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueInverse {
  static constexpr OpInfo info{.name = "unique_inverse",
                               .doc = "The (values, inverse_indices) of unique_all.",
                               .example = "unique_inverse(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "inverse_indices"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueValues {
  static constexpr OpInfo info{.name = "unique_values",
                               .doc = "The values of unique_all.",
                               .example = "unique_values(asarray([3, 1, 3]))",
                               .reference = "np.unique(x, equal_nan=False)"};
  static Tensor call(const Tensor& x);
};

struct Unique {
  static constexpr OpInfo info{
      .name = "unique",
      .doc =
          "The distinct elements of x, in ascending order (`sorted` makes no difference), or with an axis the distinct "
          "slices along it, ordered by their first elements that differ. Further results follow the values: with "
          "return_inverse the position among them of each element (in x's shape) or slice (one axis), with "
          "return_counts the number of occurrences of each. Each NaN, and each slice that contains one, is a distinct "
          "value.",
      .parameters = "x, /, *, sorted=True, return_inverse=False, return_counts=False, axis=None",
      .example = "unique(asarray([[3, 1], [3, 1]]), axis=0)",
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool sorted, bool return_inverse, bool return_counts,
                                  std::optional<std::int64_t> axis);
};

inline std::vector<Tensor> unique(const Tensor& x, bool sorted = true, bool return_inverse = false,
                                  bool return_counts = false, std::optional<std::int64_t> axis = std::nullopt) {
  return Unique::call(x, sorted, return_inverse, return_counts, axis);
}
inline std::vector<Tensor> unique_all(const Tensor& x) { return UniqueAll::call(x); }
inline std::vector<Tensor> unique_counts(const Tensor& x) { return UniqueCounts::call(x); }
inline std::vector<Tensor> unique_inverse(const Tensor& x) { return UniqueInverse::call(x); }
inline Tensor unique_values(const Tensor& x) { return UniqueValues::call(x); }

}  // namespace lamella
