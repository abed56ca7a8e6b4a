#pragma once

#include <cstdint>

#include "ops/random/fill.h"

namespace lamella::cpu {

/// Writes the first `count` of the numbers that counters from fill.offset on give. Element i is a function of the
/// counter and of its place there alone; see ops/random/fill.h, which defines it.
template <class T>
using RandomFill = void (*)(const random::Fill& fill, std::int64_t count, T* out);

struct RandomKernels {
  /// Uniform, normal and exponential numbers.
  RandomFill<float> float32 = nullptr;
  RandomFill<double> float64 = nullptr;
  RandomFill<bool> coins = nullptr;
  /// Integers by their size; signed and unsigned ones have the same bits.
  RandomFill<std::uint8_t> integer8 = nullptr;
  RandomFill<std::uint16_t> integer16 = nullptr;
  RandomFill<std::uint32_t> integer32 = nullptr;
  RandomFill<std::uint64_t> integer64 = nullptr;
};

void fill_random(RandomKernels& kernels);

}  // namespace lamella::cpu
