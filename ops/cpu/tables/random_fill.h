#pragma once

#include <cstdint>

namespace lamella::random {
struct Fill;
}

namespace lamella::cpu {

/// Writes the first `count` numbers that counters from fill.offset on give. Element i depends only on its counter and
/// its position within it, as ops/random/fill.h defines.
template <class T>
using RandomFill = void (*)(const random::Fill& fill, std::int64_t count, T* out);

struct RandomKernels {
  /// Kernels for uniform, normal and exponential numbers.
  RandomFill<float> float32 = nullptr;
  RandomFill<double> float64 = nullptr;
  RandomFill<bool> coins = nullptr;
  /// Kernels for integers by size; signed and unsigned ones have the same bits.
  RandomFill<std::uint8_t> integer8 = nullptr;
  RandomFill<std::uint16_t> integer16 = nullptr;
  RandomFill<std::uint32_t> integer32 = nullptr;
  RandomFill<std::uint64_t> integer64 = nullptr;
};

void fill_random(RandomKernels& kernels);

}  // namespace lamella::cpu
