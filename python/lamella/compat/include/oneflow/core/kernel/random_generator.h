#pragma once

// A generator of random numbers for kernels on the CPU: docs/compat.md.

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "oneflow/core/framework/framework.h"

namespace oneflow {

template <DeviceType device_type>
class RandomGenerator;

/// Numbers of a sequence that the seed determines.
template <>
class RandomGenerator<DeviceType::kCPU> {
 public:
  RandomGenerator(std::int64_t seed, DeviceCtx*) : generator_(static_cast<std::uint32_t>(seed)) {}

  /// Fills `count` elements from the interval [min, max).
  template <class T>
  void Uniform(std::int64_t count, T min, T max, T* into) {
    std::uniform_real_distribution<T> next(min, std::nextafter(max, std::numeric_limits<T>::lowest()));
    for (std::int64_t i = 0; i < count; ++i) into[i] = next(generator_);
  }
  template <class T>
  void Uniform(std::int64_t count, T* into) {
    Uniform(count, T(0), T(1), into);
  }

 private:
  std::mt19937 generator_;
};

}  // namespace oneflow
