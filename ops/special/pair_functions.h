#pragma once

#include <cstdint>

namespace lamella::special {

/// The functions of two numbers with kernels of their own, besides polynomials.
enum class PairFunction : std::uint8_t { GammaInc, GammaIncC, GammaDensity };

}  // namespace lamella::special
