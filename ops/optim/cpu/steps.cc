#include "ops/cpu/tables/optimizer_steps.h"
#include "ops/optim/formulas.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// A vector of elements of an array, or the remaining ones.
template <class T>
struct Slice {
  std::int64_t at;
  std::int64_t left;

  bool whole() const { return left >= Vec<T>::size; }
  Vec<T> load(const T* from) const {
    return whole() ? Vec<T>::load(from + at) : Vec<T>::load_partial(from + at, static_cast<int>(left), T{0});
  }
  void store(Vec<T> values, T* to) const {
    if (whole()) {
      values.store(to + at);
    } else {
      values.store_partial(to + at, static_cast<int>(left));
    }
  }
};

template <class F, class T>
void step(const double* numbers, const optim::Shared<double>& shared, std::int64_t n, T* parameter, const T* gradient,
          T* const* states) {
  const F formula = optim::formula_of<F, T>(numbers);
  const auto common = optim::shared_of<T>(shared);
  for (std::int64_t i = 0; i < n; i += Vec<T>::size) {
    const Slice<T> slice{i, n - i};
    Vec<T> p = slice.load(parameter);
    std::array<Vec<T>, F::kStates> values;
    for (std::size_t k = 0; k < F::kStates; ++k) values[k] = states[k] ? slice.load(states[k]) : Vec<T>(0);
    optim::advance(formula, common, p, slice.load(gradient), values);
    for (std::size_t k = 0; k < F::kStates; ++k) {
      if (states[k]) slice.store(values[k], states[k]);
    }
    slice.store(p, parameter);
  }
}

template <class T, template <class> class... F>
const OptimizerStep<T>* steps(optim::FormulaList<F...>) {
  static constexpr OptimizerStep<T> kSteps[] = {step<F<T>, T>...};
  return kSteps;
}

}  // namespace

void fill_optimizer(OptimizerTable& table) {
  table.float32 = steps<float>(optim::Formulas());
  table.float64 = steps<double>(optim::Formulas());
}

}  // namespace lamella::cpu
