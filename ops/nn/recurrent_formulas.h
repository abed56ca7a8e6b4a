#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/tensor.h"

namespace lamella {

enum class CellKind : std::uint8_t { Tanh, Relu, Lstm, Gru };

/// Returns the number of a cell's gates, which are stacked in its weights.
constexpr std::int64_t gates_of(CellKind kind) { return kind == CellKind::Lstm ? 4 : kind == CellKind::Gru ? 3 : 1; }

/// Returns the next state from the products of x and of h with the weights, [.., gates * hidden]. The memory `c` is
/// replaced by the next one if the cell has one.
Tensor next_state(CellKind kind, const Tensor& from_x, const Tensor& from_h, const Tensor& h, Tensor& c);

/// The operands of a cell's steps over sequences.
struct RecurrentSteps {
  CellKind kind;
  bool backwards = false;
  Tensor from_x;            ///< products of the elements with the weights, [steps, sequences, gates * hidden]
  Tensor h;                 ///< first state, [sequences, hidden]
  std::optional<Tensor> c;  ///< first memory, likewise, of a cell that has one
  Tensor weight;            ///< [gates * hidden, hidden]
  std::optional<Tensor> bias;
};

/// Performs all steps: returns the states, [steps, sequences, hidden], and the last memory if there is one.
std::vector<Tensor> run_steps_by_operators(const RecurrentSteps& steps);

}  // namespace lamella
