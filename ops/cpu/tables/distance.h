#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Longest rows for which vectors run across rows rather than along them.
constexpr std::int64_t kShortRow = 64;

/// Computes out[j] = the p-norm of a - b[j], for `count` contiguous rows b[j] of `width` elements; p as in cdist().
template <class T>
using DistanceKernel = void (*)(const T* a, const T* b, T* out, std::int64_t count, std::int64_t width, double p);

/// Computes out[r * count + j] = the p-norm of a[r] - b[j], for `rows` rows a[r] of up to kShortRow elements; element k
/// of b[j] is columns[k * stride + j].
template <class T>
using ShortDistanceKernel = void (*)(const T* a, std::int64_t rows, const T* columns, std::int64_t stride, T* out,
                                     std::int64_t count, std::int64_t width, double p);

/// Computes out = the sum of weights[j * step] times a - b[j], or times the signs of these differences, for `count`
/// rows b[j] of `width` elements: the gradient of distances from a.
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
