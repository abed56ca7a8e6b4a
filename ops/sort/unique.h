#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct UniqueAll {
  static constexpr OpInfo info{
      .name = "unique_all",
      .doc =
          "Of the elements of x, flattened, each value once, in ascending order: (values, indices, inverse_indices, "
          "counts), with the position of its first occurrence, the place of each of x's elements among the values, and "
          "how often each occurs. Each NaN is a value of its own; complex numbers are ordered by real part first.",
      .parameters = "x, /",
      .example = "unique_all(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "indices", "inverse_indices", "counts"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueCounts {
  static constexpr OpInfo info{.name = "unique_counts",
                               .doc = "The (values, counts) of unique_all.",
                               .parameters = "x, /",
                               .example = "unique_counts(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "counts"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueInverse {
  static constexpr OpInfo info{.name = "unique_inverse",
                               .doc = "The (values, inverse_indices) of unique_all.",
                               .parameters = "x, /",
                               .example = "unique_inverse(asarray([3, 1, 3]))"};
  static constexpr const char* kFields[] = {"values", "inverse_indices"};
  static std::vector<Tensor> call(const Tensor& x);
};

struct UniqueValues {
  static constexpr OpInfo info{.name = "unique_values",
                               .doc = "The values of unique_all.",
                               .parameters = "x, /",
                               .example = "unique_values(asarray([3, 1, 3]))",
                               .reference = "np.unique(x, equal_nan=False)"};
  static Tensor call(const Tensor& x);
};

inline std::vector<Tensor> unique_all(const Tensor& x) { return UniqueAll::call(x); }
inline std::vector<Tensor> unique_counts(const Tensor& x) { return UniqueCounts::call(x); }
inline std::vector<Tensor> unique_inverse(const Tensor& x) { return UniqueInverse::call(x); }
inline Tensor unique_values(const Tensor& x) { return UniqueValues::call(x); }

}  // namespace lamella
