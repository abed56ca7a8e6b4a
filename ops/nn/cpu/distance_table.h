#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Rows up to here are little work for vectors along them.
constexpr std::int64_t kShortRow = 64;

/// out[j] = the p-norm of a - b[j], for `count` rows b[j] of `width`, one behind the other; p as in cdist().
template <class T>
using DistanceKernel = void (*)(const T* a, const T* b, T* out, std::int64_t count, std::int64_t width, double p);

/// out[r * count + j] = the same of a[r] and b[j], for `rows` rows a[r] of up to kShortRow elements; element k of b[j]
/// is columns[k * stride + j].
template <class T>
using ShortDistanceKernel = void (*)(const T* a, std::int64_t rows, const T* columns, std::int64_t stride, T* out,
                                     std::int64_t count, std::int64_t width, double p);

/// out = the sum of weights[j * step] times a - b[j], or times the signs of these differences, for `count` rows b[j] of
/// `width`: the gradient of distances from a.
template <class T>
using DistanceGradientKernel = void (*)(const T* a, const T* b, const T* weights, std::int64_t step, T* out,
                                        std::int64_t count, std::int64_t width, bool signs);

template <class T>
struct DistanceKernels {
  DistanceKernel<T> distances = nullptr;
  ShortDistanceKernel<T> short_distances = nullptr;
  DistanceGradientKernel<T> gradient = nullptr;
};

struct DistanceTable {
  DistanceKernels<float> float32;
  DistanceKernels<double> float64;
};

void fill_distance(DistanceTable& table);

}  // namespace lamella::cpu
