#pragma once

#include <cstdint>

namespace lamella {

/// Formats in which devices may multiply float32 matrices. The sums are float32 in all of them.
enum class MatmulPrecision : std::uint8_t {
  Highest,  ///< float32
  High,     ///< TF32, with 10 bits of mantissa, where the device has it: about 8 times as fast on tensor cores
  Medium,   ///< the same as High: no device has a narrower format that keeps the range
};

/// Sets the format of products of float32 matrices on CUDA devices, process-wide. The CPU always computes in float32.
void set_float32_matmul_precision(MatmulPrecision precision) noexcept;
MatmulPrecision float32_matmul_precision() noexcept;

}  // namespace lamella
