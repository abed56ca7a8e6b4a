#pragma once

#include <cstdint>

#include "ops/cpu/tables/recurrent.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/tanh.h"
#include "ops/simd/hd.h"

// The formulas of recurrent cells and of their gradients, for a row of a step. `Lanes` stands for neighboring elements
// of a row: lanes.load(row) returns them as Lanes::Values, and lanes.store(values, row) writes them.

namespace lamella::recurrent {

using cpu::CellGradients;
using cpu::CellOutputs;
using cpu::CellStep;

/// Returns the sum of the parts of the gradient of a step's state.
template <class T, class Lanes>
LM_HD auto arriving(const CellGradients<T>& gradients, const Lanes& lanes, std::int64_t offset) {
  typename Lanes::Values sum(0);
  for (const T* const part : gradients.dh) {
    if (part) sum += lanes.load(part + offset);
  }
  return sum;
}

struct TanhGate {
  template <class X>
  LM_HD static X value(X x) {
    return tanh(x);
  }
  template <class X>
  LM_HD static X slope(X x) {
    return tanh_slope(x, tanh(x));
  }
};

struct ReluGate {
  template <class X>
  LM_HD static X value(X x) {
    return maximum(x, 0);
  }
  template <class X>
  LM_HD static X slope(X x) {
    return where(x > 0, X(1), X(0));
  }
};

/// h' = f(x + h)
template <class Gate>
struct PlainCell {
  template <class T, class Lanes>
  LM_HD static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs, std::int64_t row,
                            const Lanes& lanes) {
    const std::int64_t at = row * step.hidden;
    lanes.store(Gate::value(lanes.load(step.from_x + at) + lanes.load(step.from_h + at)), outputs.h + at);
  }
  template <class T, class Lanes>
  LM_HD static void backward(const CellStep<T>& step, const CellGradients<T>& gradients, std::int64_t row,
                             const Lanes& lanes) {
    const std::int64_t at = row * step.hidden;
    const auto sum = lanes.load(step.from_x + at) + lanes.load(step.from_h + at);
    lanes.store(arriving(gradients, lanes, at) * Gate::slope(sum), gradients.dfrom_x + at);
  }
};

/// c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')
struct LstmCell {
  template <class V>
  struct Gates {
    V i, f, g, o;

    template <class T, class Lanes>
    LM_HD Gates(const CellStep<T>& step, const Lanes& lanes, std::int64_t row) {
      V* const gates[] = {&i, &f, &g, &o};
      for (int k = 0; k < 4; ++k) {
        const std::int64_t at = (4 * row + k) * step.hidden;
        *gates[k] = lanes.load(step.from_x + at) + lanes.load(step.from_h + at);
      }
    }
  };

  template <class T, class Lanes>
  LM_HD static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs, std::int64_t row,
                            const Lanes& lanes) {
    using V = typename Lanes::Values;
    const Gates<V> gates(step, lanes, row);
    const std::int64_t at = row * step.hidden;
    const V c = sigmoid(gates.f) * lanes.load(step.c + at) + sigmoid(gates.i) * tanh(gates.g);
    lanes.store(c, outputs.c + at);
    lanes.store(sigmoid(gates.o) * tanh(c), outputs.h + at);
  }
  template <class T, class Lanes>
  LM_HD static void backward(const CellStep<T>& step, const CellGradients<T>& gradients, std::int64_t row,
                             const Lanes& lanes) {
    using V = typename Lanes::Values;
    const Gates<V> gates(step, lanes, row);
    const std::int64_t at = row * step.hidden;
    const V i = sigmoid(gates.i), f = sigmoid(gates.f), g = tanh(gates.g), o = sigmoid(gates.o);
    const V next_c = lanes.load(gradients.next_c + at);
    const V shown = tanh(next_c);
    const V dh = arriving(gradients, lanes, at);
    const V dc = lanes.load(gradients.dc + at) + dh * o * tanh_slope(next_c, shown);
    const V slopes[] = {dc * g * sigmoid_slope(gates.i, i), dc * lanes.load(step.c + at) * sigmoid_slope(gates.f, f),
                        dc * i * tanh_slope(gates.g, g), dh * shown * sigmoid_slope(gates.o, o)};
    for (int k = 0; k < 4; ++k) lanes.store(slopes[k], gradients.dfrom_x + (4 * row + k) * step.hidden);
    lanes.store(dc * f, gradients.dc + at);
  }
};

/// n = tanh(n_x + sigmoid(r) n_h), h' = n + sigmoid(z) (h - n)
struct GruCell {
  template <class V>
  struct Gates {
    V r, z, n_x, n_h;

    template <class T, class Lanes>
    LM_HD Gates(const CellStep<T>& step, const Lanes& lanes, std::int64_t row) {
      const T* const x = step.from_x + 3 * row * step.hidden;
      const T* const h = step.from_h + 3 * row * step.hidden;
      r = lanes.load(x) + lanes.load(h);
      z = lanes.load(x + step.hidden) + lanes.load(h + step.hidden);
      n_x = lanes.load(x + 2 * step.hidden);
      n_h = lanes.load(h + 2 * step.hidden);
    }
  };

  template <class T, class Lanes>
  LM_HD static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs, std::int64_t row,
                            const Lanes& lanes) {
    using V = typename Lanes::Values;
    const Gates<V> gates(step, lanes, row);
    const std::int64_t at = row * step.hidden;
    const V n = tanh(gates.n_x + sigmoid(gates.r) * gates.n_h);
    lanes.store(n + sigmoid(gates.z) * (lanes.load(step.h + at) - n), outputs.h + at);
  }
  template <class T, class Lanes>
  LM_HD static void backward(const CellStep<T>& step, const CellGradients<T>& gradients, std::int64_t row,
                             const Lanes& lanes) {
    using V = typename Lanes::Values;
    const Gates<V> gates(step, lanes, row);
    const std::int64_t at = row * step.hidden;
    const V r = sigmoid(gates.r), z = sigmoid(gates.z);
    const V sum = gates.n_x + r * gates.n_h;
    const V n = tanh(sum);
    const V dh = arriving(gradients, lanes, at);
    const V dsum = dh * (1 - z) * tanh_slope(sum, n);
    const V dr = dsum * gates.n_h * sigmoid_slope(gates.r, r);
    const V dz = dh * (lanes.load(step.h + at) - n) * sigmoid_slope(gates.z, z);
    T* const dx = gradients.dfrom_x + 3 * at;
    T* const dfrom_h = gradients.dfrom_h + 3 * at;
    T* const both[] = {dx, dfrom_h};
    for (T* const to : both) {
      lanes.store(dr, to);
      lanes.store(dz, to + step.hidden);
    }
    lanes.store(dsum, dx + 2 * step.hidden);
    lanes.store(dsum * r, dfrom_h + 2 * step.hidden);
    lanes.store(dh * z, gradients.directly + at);
  }
};

}  // namespace lamella::recurrent
