#include "ops/cpu/tables/recurrent.h"

#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/tanh.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// A vector of the elements of a row, or the last ones.
template <class T>
class Lanes {
 public:
  Lanes(std::int64_t at, std::int64_t end) : at_(at), left_(static_cast<int>(end - at)) {}

  Vec<T> load(const T* row) const {
    return left_ >= Vec<T>::size ? Vec<T>::load(row + at_) : Vec<T>::load_partial(row + at_, left_, T(0));
  }
  void store(Vec<T> v, T* row) const {
    if (left_ >= Vec<T>::size) {
      v.store(row + at_);
    } else {
      v.store_partial(row + at_, left_);
    }
  }

 private:
  std::int64_t at_;
  int left_;
};

/// Calls body(row, lanes) for each vector of each row.
template <class T, class Body>
void over_rows(const CellStep<T>& step, Body&& body) {
  for (std::int64_t row = 0; row < step.rows; ++row) {
    for (std::int64_t j = 0; j < step.hidden; j += Vec<T>::size) body(row, Lanes<T>(j, step.hidden));
  }
}

/// Returns the sum of the parts of the gradient of a step's state.
template <class T>
Vec<T> arriving(const CellGradients<T>& gradients, const Lanes<T>& lanes, std::int64_t offset) {
  Vec<T> sum(0);
  for (const T* const part : gradients.dh) {
    if (part) sum += lanes.load(part + offset);
  }
  return sum;
}

struct TanhGate {
  template <class X>
  static X value(X x) {
    return tanh(x);
  }
  template <class X>
  static X slope(X x) {
    return tanh_slope(x, tanh(x));
  }
};

struct ReluGate {
  template <class X>
  static X value(X x) {
    return maximum(x, 0);
  }
  template <class X>
  static X slope(X x) {
    return where(x > 0, X(1), X(0));
  }
};

/// h' = f(x + h)
template <class T, class Gate>
struct PlainCell {
  static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const std::int64_t at = row * step.hidden;
      lanes.store(Gate::value(lanes.load(step.from_x + at) + lanes.load(step.from_h + at)), outputs.h + at);
    });
  }
  static void backward(const CellStep<T>& step, const CellGradients<T>& gradients) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const std::int64_t at = row * step.hidden;
      const Vec<T> sum = lanes.load(step.from_x + at) + lanes.load(step.from_h + at);
      lanes.store(arriving(gradients, lanes, at) * Gate::slope(sum), gradients.dfrom_x + at);
    });
  }
};

/// c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')
template <class T>
struct LstmCell {
  struct Gates {
    Vec<T> i, f, g, o;

    Gates(const CellStep<T>& step, const Lanes<T>& lanes, std::int64_t row) {
      Vec<T>* const gates[] = {&i, &f, &g, &o};
      for (int k = 0; k < 4; ++k) {
        const std::int64_t at = (4 * row + k) * step.hidden;
        *gates[k] = lanes.load(step.from_x + at) + lanes.load(step.from_h + at);
      }
    }
  };

  static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const Gates gates(step, lanes, row);
      const std::int64_t at = row * step.hidden;
      const Vec<T> c = sigmoid(gates.f) * lanes.load(step.c + at) + sigmoid(gates.i) * tanh(gates.g);
      lanes.store(c, outputs.c + at);
      lanes.store(sigmoid(gates.o) * tanh(c), outputs.h + at);
    });
  }
  static void backward(const CellStep<T>& step, const CellGradients<T>& gradients) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const Gates gates(step, lanes, row);
      const std::int64_t at = row * step.hidden;
      const Vec<T> i = sigmoid(gates.i), f = sigmoid(gates.f), g = tanh(gates.g), o = sigmoid(gates.o);
      const Vec<T> next_c = lanes.load(gradients.next_c + at);
      const Vec<T> shown = tanh(next_c);
      const Vec<T> dh = arriving(gradients, lanes, at);
      const Vec<T> dc = lanes.load(gradients.dc + at) + dh * o * tanh_slope(next_c, shown);
      const Vec<T> slopes[] = {dc * g * sigmoid_slope(gates.i, i),
                               dc * lanes.load(step.c + at) * sigmoid_slope(gates.f, f),
                               dc * i * tanh_slope(gates.g, g), dh * shown * sigmoid_slope(gates.o, o)};
      for (int k = 0; k < 4; ++k) lanes.store(slopes[k], gradients.dfrom_x + (4 * row + k) * step.hidden);
      lanes.store(dc * f, gradients.dc + at);
    });
  }
};

/// n = tanh(n_x + sigmoid(r) n_h), h' = n + sigmoid(z) (h - n)
template <class T>
struct GruCell {
  struct Gates {
    Vec<T> r, z, n_x, n_h;

    Gates(const CellStep<T>& step, const Lanes<T>& lanes, std::int64_t row) {
      const T* const x = step.from_x + 3 * row * step.hidden;
      const T* const h = step.from_h + 3 * row * step.hidden;
      r = lanes.load(x) + lanes.load(h);
      z = lanes.load(x + step.hidden) + lanes.load(h + step.hidden);
      n_x = lanes.load(x + 2 * step.hidden);
      n_h = lanes.load(h + 2 * step.hidden);
    }
  };

  static void forward(const CellStep<T>& step, const CellOutputs<T>& outputs) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const Gates gates(step, lanes, row);
      const std::int64_t at = row * step.hidden;
      const Vec<T> n = tanh(gates.n_x + sigmoid(gates.r) * gates.n_h);
      lanes.store(n + sigmoid(gates.z) * (lanes.load(step.h + at) - n), outputs.h + at);
    });
  }
  static void backward(const CellStep<T>& step, const CellGradients<T>& gradients) {
    over_rows(step, [&](std::int64_t row, Lanes<T> lanes) {
      const Gates gates(step, lanes, row);
      const std::int64_t at = row * step.hidden;
      const Vec<T> r = sigmoid(gates.r), z = sigmoid(gates.z);
      const Vec<T> sum = gates.n_x + r * gates.n_h;
      const Vec<T> n = tanh(sum);
      const Vec<T> dh = arriving(gradients, lanes, at);
      const Vec<T> dsum = dh * (1 - z) * tanh_slope(sum, n);
      const Vec<T> dr = dsum * gates.n_h * sigmoid_slope(gates.r, r);
      const Vec<T> dz = dh * (lanes.load(step.h + at) - n) * sigmoid_slope(gates.z, z);
      T* const dx = gradients.dfrom_x + 3 * at;
      T* const dfrom_h = gradients.dfrom_h + 3 * at;
      for (T* const to : {dx, dfrom_h}) {
        lanes.store(dr, to);
        lanes.store(dz, to + step.hidden);
      }
      lanes.store(dsum, dx + 2 * step.hidden);
      lanes.store(dsum * r, dfrom_h + 2 * step.hidden);
      lanes.store(dh * z, gradients.directly + at);
    });
  }
};

template <class Cell, class T>
void fill(CellKernels<T>& kernels) {
  kernels = {&Cell::forward, &Cell::backward};
}

template <class T>
void fill_all(RecurrentKernels<T>& kernels) {
  fill<PlainCell<T, TanhGate>>(kernels.tanh);
  fill<PlainCell<T, ReluGate>>(kernels.relu);
  fill<LstmCell<T>>(kernels.lstm);
  fill<GruCell<T>>(kernels.gru);
}

}  // namespace

void fill_recurrent(RecurrentTable& table) {
  fill_all(table.float32);
  fill_all(table.float64);
}

}  // namespace lamella::cpu
