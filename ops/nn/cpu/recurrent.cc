#include "ops/cpu/tables/recurrent.h"

#include "ops/nn/recurrent_cells.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// A vector of the elements of a row, or the last ones.
template <class T>
class Lanes {
 public:
  using Values = Vec<T>;

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

template <class Cell, class T>
CellKernels<T> kernels_of() {
  return {[](const CellStep<T>& step, const CellOutputs<T>& outputs) {
            over_rows(step, [&](std::int64_t row, Lanes<T> lanes) { Cell::forward(step, outputs, row, lanes); });
          },
          [](const CellStep<T>& step, const CellGradients<T>& gradients) {
            over_rows(step, [&](std::int64_t row, Lanes<T> lanes) { Cell::backward(step, gradients, row, lanes); });
          }};
}

template <class T>
RecurrentKernels<T> all_kernels() {
  return {.tanh = kernels_of<recurrent::PlainCell<recurrent::TanhGate>, T>(),
          .relu = kernels_of<recurrent::PlainCell<recurrent::ReluGate>, T>(),
          .lstm = kernels_of<recurrent::LstmCell, T>(),
          .gru = kernels_of<recurrent::GruCell, T>()};
}

}  // namespace

void fill_recurrent(RecurrentTable& table) { table = {all_kernels<float>(), all_kernels<double>()}; }

}  // namespace lamella::cpu
