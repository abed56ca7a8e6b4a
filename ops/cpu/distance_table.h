#pragma once

#include <cstdint>

namespace lamella::cpu {

/// out[j] = the p-norm of a - b[j], for `count` rows b[j] of `width`, one behind the other; p as in cdist().
template <class T>
using DistanceKernel = void (*)(const T* a, const T* b, T* out, std::int64_t count, std::int64_t width, double p);

struct DistanceTable {
  DistanceKernel<float> float32 = nullptr;
  DistanceKernel<double> float64 = nullptr;
};

void fill_distance(DistanceTable& table);

}  // namespace lamella::cpu
