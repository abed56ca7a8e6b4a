#include "ops/nn/recurrent.h"

#include "ops/nn/dropout.h"
#include "ops/nn/linear.h"
#include "ops/nn/recurrent_steps.h"
#include "ops/shape/cuts.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// A cell, and the operator that it belongs to.
struct Cell {
  using Kind = CellKind;
  CellKind kind;
  const char* op;
};

std::optional<Tensor> defined_or_none(const Tensor& x) { return x.defined() ? std::optional(x) : std::nullopt; }

Cell rnn_kind(std::string_view nonlinearity, const char* op) {
  if (nonlinearity == "tanh") return {Cell::Kind::Tanh, op};
  if (nonlinearity == "relu") return {Cell::Kind::Relu, op};
  fail<ValueError>("[", op, "] nonlinearity must be \"tanh\" or \"relu\", got \"", nonlinearity, "\"");
}

struct Weights {
  Tensor ih;
  Tensor hh;
  std::optional<Tensor> bias_ih;
  std::optional<Tensor> bias_hh;
};

void check_weights(const Cell& cell, const Weights& w, std::int64_t input, std::int64_t hidden) {
  const std::int64_t rows = gates_of(cell.kind) * hidden;
  const auto check = [&](const Tensor& x, const Dims& shape, const char* what) {
    check_defined(x, cell.op);
    if (x.shape() != shape)
      fail<ValueError>("[", cell.op, "] ", what, " must have the shape ", shape, ", got ", x.shape(), " (x has ", input,
                       " features)");
  };
  check(w.ih, Dims{rows, input}, "weight_ih");
  check(w.hh, Dims{rows, hidden}, "weight_hh");
  if (w.bias_ih) check(*w.bias_ih, Dims{rows}, "bias_ih");
  if (w.bias_hh) check(*w.bias_hh, Dims{rows}, "bias_hh");
}

/// Performs one step from states that broadcast with x; returns h and stores the next c in `c`.
Tensor step(const Cell& cell, const Tensor& x, const Tensor& h, Tensor& c, const Weights& w) {
  check_defined(x, cell.op);
  check_defined(h, cell.op);
  if (x.ndim() == 0 || h.ndim() != x.ndim() || (c.defined() && c.shape() != h.shape()) ||
      Dims(x.shape().begin(), x.shape().end() - 1) != Dims(h.shape().begin(), h.shape().end() - 1)) {
    fail<ValueError>("[", cell.op, "] the states must have x's shape but for the last axis, got x: ", x.shape(),
                     ", h: ", h.shape());
  }
  check_weights(cell, w, x.size(-1), h.size(-1));
  const Tensor from_x = linear(x, w.ih, w.bias_ih);
  if (h.ndim() == 2) {
    const RecurrentSteps one{cell.kind, false, expand_dims(from_x, 0), h, defined_or_none(c), w.hh, w.bias_hh};
    if (takes_steps(one)) {
      const std::vector<Tensor> made = run_steps(one);
      if (c.defined()) c = made[1];
      return squeeze(made[0], Dims{0});
    }
  }
  return next_state(cell.kind, from_x, linear(h, w.hh, w.bias_hh), h, c);
}

/// The settings and tensors of a network.
struct Network {
  Cell cell;
  std::vector<Weights> weights;  ///< weights of each layer's directions
  std::int64_t layers;
  std::int64_t directions;
  double dropout;  ///< 0 unless training

  Network(Cell cell, const std::vector<Tensor>& params, std::int64_t num_layers, bool bidirectional, bool has_biases,
          double p, bool training)
      : cell(cell), layers(num_layers), directions(bidirectional ? 2 : 1), dropout(training ? p : 0) {
    if (num_layers < 1) fail<ValueError>("[", cell.op, "] num_layers must be above 0, got ", num_layers);
    if (!(p >= 0 && p <= 1)) fail<ValueError>("[", cell.op, "] dropout must lie in [0, 1], got ", p);
    const std::size_t each = has_biases ? 4 : 2;
    if (params.size() % each != 0 ||
        params.size() / each / static_cast<std::size_t>(directions) != static_cast<std::size_t>(num_layers)) {
      fail<ValueError>("[", cell.op, "] params must hold ", each, " tensors for each of ", num_layers,
                       " layers' directions (", directions, "), got ", params.size());
    }
    for (std::size_t i = 0; i < params.size(); i += each) {
      Weights w{params[i], params[i + 1], std::nullopt, std::nullopt};
      if (has_biases) {
        w.bias_ih = params[i + 2];
        w.bias_hh = params[i + 3];
      }
      weights.push_back(std::move(w));
    }
  }

  /// Runs from [steps, sequences, input] to the last layer's states. `h` and `c` (may be empty) hold a state for each
  /// layer and direction and are replaced by the final ones.
  Tensor run(const Tensor& given, std::vector<Tensor>& h, std::vector<Tensor>& c) const {
    Tensor x = given;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      if (layer > 0 && dropout > 0) x = lamella::dropout(x, dropout, true);
      std::vector<Tensor> both;
      for (std::int64_t d = 0; d < directions; ++d) {
        const auto at = static_cast<std::size_t>(layer * directions + d);
        Tensor none;
        both.push_back(run_direction(x, h[at], c.empty() ? none : c[at], weights[at], d == 1));
      }
      x = both.size() == 1 ? both[0] : concat(both, -1);
    }
    return x;
  }

 private:
  Tensor run_direction(const Tensor& x, Tensor& h, Tensor& c, const Weights& w, bool backwards) const {
    check_weights(cell, w, x.size(-1), h.size(-1));
    // The products with x for all steps at once.
    const Tensor from_x = linear(x, w.ih, w.bias_ih);
    const RecurrentSteps steps{cell.kind, backwards, from_x, h, defined_or_none(c), w.hh, w.bias_hh};
    const bool alone = x.ndim() == 2;
    RecurrentSteps rows = steps;
    if (alone) {
      rows.from_x = expand_dims(from_x, 1);
      rows.h = expand_dims(h, 0);
      if (rows.c) rows.c = expand_dims(*rows.c, 0);
    }
    std::vector<Tensor> made;
    if (takes_steps(rows)) {
      made = run_steps(rows);
      if (alone) made = {squeeze(made[0], Dims{1}), c.defined() ? squeeze(made[1], Dims{0}) : Tensor()};
    } else {
      made = run_steps_by_operators(steps);
    }
    h = squeeze(narrow(made[0], 0, backwards ? 0 : x.size(0) - 1, 1), Dims{0});
    if (c.defined()) c = made[1];
    return made[0];
  }
};

std::vector<Tensor> run_network(const Network& network, const Tensor& x, const Tensor& h0, const Tensor& c0) {
  const char* op = network.cell.op;
  check_defined(x, op);
  check_defined(h0, op);
  if (x.ndim() != 2 && x.ndim() != 3)
    fail<ValueError>("[", op, "] x must be [steps, sequences, input] or [steps, input], got ", x.shape());
  if (x.size(0) == 0) fail<ValueError>("[", op, "] x must have at least one step, got the shape ", x.shape());
  if (x.size(0) > kMostParts)
    fail<ValueError>("[", op, "] x must have at most ", kMostParts, " steps, got the shape ", x.shape());
  Dims expected{network.layers * network.directions};
  if (x.ndim() == 3) expected.push_back(x.size(1));
  expected.push_back(h0.ndim() > 0 ? h0.shape().back() : 0);
  for (const Tensor* state : {&h0, &c0}) {
    if (state->defined() && state->shape() != expected)
      fail<ValueError>("[", op, "] the states must have the shape [layers * directions, sequences, hidden], here ",
                       expected, "; got ", state->shape());
  }
  const auto parts = [](const Tensor& state) {
    std::vector<Tensor> list;
    list.reserve(static_cast<std::size_t>(state.size(0)));
    for (std::int64_t i = 0; i < state.size(0); ++i) list.push_back(squeeze(narrow(state, 0, i, 1), Dims{0}));
    return list;
  };
  std::vector<Tensor> h = parts(h0);
  std::vector<Tensor> c;
  if (c0.defined()) c = parts(c0);
  std::vector<Tensor> result{network.run(x, h, c)};
  result.push_back(stack(h, 0));
  if (!c.empty()) result.push_back(stack(c, 0));
  return result;
}

}  // namespace

Tensor RnnCell::call(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                     const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh,
                     std::string_view nonlinearity) {
  Tensor c;
  return step(rnn_kind(nonlinearity, info.name), x, h, c, {weight_ih, weight_hh, bias_ih, bias_hh});
}

std::vector<Tensor> LstmCell::call(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih,
                                   const Tensor& weight_hh, const std::optional<Tensor>& bias_ih,
                                   const std::optional<Tensor>& bias_hh) {
  check_defined(c, info.name);
  Tensor memory = c;
  const Tensor next = step({Cell::Kind::Lstm, info.name}, x, h, memory, {weight_ih, weight_hh, bias_ih, bias_hh});
  return {next, memory};
}

Tensor GruCell::call(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                     const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh) {
  Tensor c;
  return step({Cell::Kind::Gru, info.name}, x, h, c, {weight_ih, weight_hh, bias_ih, bias_hh});
}

std::vector<Tensor> Rnn::call(const Tensor& x, const Tensor& h, const std::vector<Tensor>& params,
                              std::string_view nonlinearity, std::int64_t num_layers, bool bidirectional,
                              bool has_biases, double dropout, bool training) {
  return run_network(
      Network(rnn_kind(nonlinearity, info.name), params, num_layers, bidirectional, has_biases, dropout, training), x,
      h, Tensor());
}

std::vector<Tensor> Lstm::call(const Tensor& x, const Tensor& h, const Tensor& c, const std::vector<Tensor>& params,
                               std::int64_t num_layers, bool bidirectional, bool has_biases, double dropout,
                               bool training) {
  check_defined(c, info.name);
  return run_network(
      Network({Cell::Kind::Lstm, info.name}, params, num_layers, bidirectional, has_biases, dropout, training), x, h,
      c);
}

std::vector<Tensor> Gru::call(const Tensor& x, const Tensor& h, const std::vector<Tensor>& params,
                              std::int64_t num_layers, bool bidirectional, bool has_biases, double dropout,
                              bool training) {
  return run_network(
      Network({Cell::Kind::Gru, info.name}, params, num_layers, bidirectional, has_biases, dropout, training), x, h,
      Tensor());
}

}  // namespace lamella
