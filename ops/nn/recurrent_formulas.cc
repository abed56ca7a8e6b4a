#include "ops/nn/recurrent_formulas.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/relu.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/tanh.h"
#include "ops/nn/linear.h"
#include "ops/shape/cuts.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"

namespace lamella {

Tensor next_state(CellKind kind, const Tensor& from_x, const Tensor& from_h, const Tensor& h, Tensor& c) {
  switch (kind) {
    case CellKind::Tanh:
      return tanh(from_x + from_h);
    case CellKind::Relu:
      return relu(from_x + from_h);
    case CellKind::Lstm: {
      const std::vector<Tensor> parts = split(from_x + from_h, 4, -1);
      c = sigmoid(parts[1]) * c + sigmoid(parts[0]) * tanh(parts[2]);
      return sigmoid(parts[3]) * tanh(c);
    }
    case CellKind::Gru:
      break;
  }
  const std::int64_t hidden = h.size(-1);
  const Tensor both = sigmoid(narrow(from_x, -1, 0, 2 * hidden) + narrow(from_h, -1, 0, 2 * hidden));
  const Tensor n = tanh(narrow(from_x, -1, 2 * hidden, hidden) +
                        narrow(both, -1, 0, hidden) * narrow(from_h, -1, 2 * hidden, hidden));
  return n + narrow(both, -1, hidden, hidden) * (h - n);
}

std::vector<Tensor> run_steps_by_operators(const RecurrentSteps& of) {
  const std::int64_t steps = of.from_x.size(0);
  const std::vector<Tensor> by_step = split(of.from_x, Dims(static_cast<std::size_t>(steps), 1), 0);
  std::vector<Tensor> states(static_cast<std::size_t>(steps));
  Tensor h = of.h, c = of.c.value_or(Tensor());
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto t = static_cast<std::size_t>(of.backwards ? steps - 1 - i : i);
    h = next_state(of.kind, squeeze(by_step[t], Dims{0}), linear(h, of.weight, of.bias), h, c);
    states[t] = h;
  }
  std::vector<Tensor> results{stack(states, 0)};
  if (of.c) results.push_back(c);
  return results;
}

}  // namespace lamella
