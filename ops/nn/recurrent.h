#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Recurrent cells, which perform one step, and networks of them, which perform one step per element of a sequence.
//
// The weights of a cell are weight_ih, [gates * hidden, input], and weight_hh, [gates * hidden, hidden], the biases
// [gates * hidden]; the gates are stacked. The tensors of a network are given as `params`, one list: for each layer,
// and for each of its directions, weight_ih, weight_hh and, with biases, bias_ih and bias_hh.

namespace lamella {

struct RnnCell {
  static constexpr OpInfo info{
      .name = "rnn_cell",
      .doc =
          "One step of Elman's network (1990): the nonlinearity, 'tanh' or 'relu', of x @ weight_ih.T + bias_ih + h @ "
          "weight_hh.T + bias_hh. x is [.., input], h [.., hidden].",
      .parameters = "x, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, /, nonlinearity='tanh'",
      .example = "rnn_cell(ones([2, 3]), zeros([2, 4]), ones([4, 3]), ones([4, 4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                     const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh,
                     std::string_view nonlinearity);
};

struct LstmCell {
  static constexpr OpInfo info{
      .name = "lstm_cell",
      .doc =
          "One step of a long short-term memory (Hochreiter and Schmidhuber, 1997; Gers et al., 2000), from x, [.., "
          "input], and the state h and c, [.., hidden], to the next h and c: with gates i, f, g, o of the weights, c = "
          "sigmoid(f) * c + sigmoid(i) * tanh(g), h = sigmoid(o) * tanh(c).",
      .parameters = "x, h, c, weight_ih, weight_hh, bias_ih=None, bias_hh=None, /",
      .example = "lstm_cell(ones([2, 3]), zeros([2, 4]), zeros([2, 4]), ones([16, 3]), ones([16, 4]))",
      .dtypes = Floating,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih,
                                  const Tensor& weight_hh, const std::optional<Tensor>& bias_ih,
                                  const std::optional<Tensor>& bias_hh);
};

struct GruCell {
  static constexpr OpInfo info{
      .name = "gru_cell",
      .doc =
          "One step of a gated recurrent unit (Cho et al., 2014): with gates r, z, n of x and of h, n = tanh(n_x + "
          "sigmoid(r_x + r_h) * n_h), and the next h is n + sigmoid(z_x + z_h) * (h - n).",
      .parameters = "x, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, /",
      .example = "gru_cell(ones([2, 3]), zeros([2, 4]), ones([12, 3]), ones([12, 4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                     const std::optional<Tensor>& bias_ih, const std::optional<Tensor>& bias_hh);
};

struct Rnn {
  static constexpr OpInfo info{
      .name = "rnn",
      .doc =
          "A network of rnn_cell over x, [steps, sequences, input] or [steps, input], from h, [layers * directions, "
          "sequences, hidden] (without sequences likewise). Gives the last layer's states, [steps, sequences, "
          "directions "
          "* hidden], and the last state of each layer. Between layers elements are dropped with probability `dropout` "
          "in training.",
      .parameters =
          "x, h, params, /, nonlinearity='tanh', num_layers=1, bidirectional=False, has_biases=True, dropout=0.0, "
          "training=False",
      .example = "rnn(ones([5, 2, 3]), zeros([1, 2, 4]), [ones([4, 3]), ones([4, 4])], has_biases=False)",
      .dtypes = Floating,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const Tensor& h, const std::vector<Tensor>& params,
                                  std::string_view nonlinearity, std::int64_t num_layers, bool bidirectional,
                                  bool has_biases, double dropout, bool training);
};

struct Lstm {
  static constexpr OpInfo info{
      .name = "lstm",
      .doc = "A network of lstm_cell, as rnn, from states h and c. Gives the last layer's h, and the last h and c.",
      .parameters =
          "x, h, c, params, /, num_layers=1, bidirectional=False, has_biases=True, dropout=0.0, training=False",
      .example =
          "lstm(ones([5, 2, 3]), zeros([1, 2, 4]), zeros([1, 2, 4]), [ones([16, 3]), ones([16, 4])], "
          "has_biases=False)",
      .dtypes = Floating,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const Tensor& h, const Tensor& c, const std::vector<Tensor>& params,
                                  std::int64_t num_layers, bool bidirectional, bool has_biases, double dropout,
                                  bool training);
};

struct Gru {
  static constexpr OpInfo info{
      .name = "gru",
      .doc = "A network of gru_cell, as rnn.",
      .parameters = "x, h, params, /, num_layers=1, bidirectional=False, has_biases=True, dropout=0.0, training=False",
      .example = "gru(ones([5, 2, 3]), zeros([1, 2, 4]), [ones([12, 3]), ones([12, 4])], has_biases=False)",
      .dtypes = Floating,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const Tensor& h, const std::vector<Tensor>& params,
                                  std::int64_t num_layers, bool bidirectional, bool has_biases, double dropout,
                                  bool training);
};

inline Tensor rnn_cell(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                       const std::optional<Tensor>& bias_ih = std::nullopt,
                       const std::optional<Tensor>& bias_hh = std::nullopt, std::string_view nonlinearity = "tanh") {
  return RnnCell::call(x, h, weight_ih, weight_hh, bias_ih, bias_hh, nonlinearity);
}
inline std::vector<Tensor> lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih,
                                     const Tensor& weight_hh, const std::optional<Tensor>& bias_ih = std::nullopt,
                                     const std::optional<Tensor>& bias_hh = std::nullopt) {
  return LstmCell::call(x, h, c, weight_ih, weight_hh, bias_ih, bias_hh);
}
inline Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                       const std::optional<Tensor>& bias_ih = std::nullopt,
                       const std::optional<Tensor>& bias_hh = std::nullopt) {
  return GruCell::call(x, h, weight_ih, weight_hh, bias_ih, bias_hh);
}

}  // namespace lamella
