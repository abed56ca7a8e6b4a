#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/optim/formulas.h"

namespace lamella::optim {

/// Most tensors of state that a formula has.
inline constexpr std::size_t kMostStates = 3;

/// A tensor to train, of any floating or complex dtype on any device, with its gradient and state, which have its
/// shape.
struct Target {
  Tensor parameter;
  Tensor gradient;
  std::array<Tensor, kMostStates> states;  ///< undefined where the formula's numbers say so
};

/// Performs a step of an optimizer, in place and off the tape.
///
/// `formula` is a number that formula_of_name() gives, `numbers` are its members in their order. Tensors of float32
/// and float64 on the CPU, or on a device with a kernel for it, go through one kernel, all in one pass; others through
/// operators, which on the CPU give the same bits. The
/// parts of complex tensors move each by itself. Throws ValueError if there is no such formula, the count of numbers is
/// another or shapes differ, RuntimeError if devices differ or a tensor cannot be written to; no tensor has changed
/// then.
void step(std::size_t formula, std::span<const Target> targets, std::span<const double> numbers,
          const Shared<double>& shared);

/// Returns the number of the formula of that name in ops/optim/formulas.h. Throws ValueError if there is none.
std::size_t formula_of_name(std::string_view name);
/// Returns the number of state tensors of a formula. Throws ValueError if there is no such formula.
std::size_t states_of(std::size_t formula);

}  // namespace lamella::optim
