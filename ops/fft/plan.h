#pragma once

#include <cstdint>
#include <memory>

#include "ops/cpu/fft_table.h"

namespace lamella::fft {

/// A plan for transforms of `length` complex numbers and the tables that it points to, kept for later calls with that
/// length. Any length of at least 1; its largest prime factors decide how it is done (ops/cpu/fft_table.h).
/// T is float or double.
template <class T>
std::shared_ptr<const cpu::FftPlan<T>> plan_of(std::int64_t length);

}  // namespace lamella::fft
