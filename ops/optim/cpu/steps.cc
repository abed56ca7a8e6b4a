#include <algorithm>
#include <array>

#include "ops/cpu/tables/optimizer_steps.h"
#include "ops/optim/formulas.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// Everything is inlined: a call for each vector would take longer than its arithmetic.
template <class F, class T>
[[gnu::flatten]] void step(const double* numbers, const optim::Shared<double>& shared, std::int64_t n, T* parameter,
                           const T* gradient, T* const* given_states) {
  // Copies that no store can reach stay in registers.
  const F formula = optim::formula_of<F, T>(numbers);
  const auto common = optim::shared_of<T>(shared);
  std::array<T*, F::kStates> states;
  std::copy_n(given_states, F::kStates, states.begin());
  const auto step_vector = [&](auto&& load, auto&& store) {
    Vec<T> p = load(parameter);
    std::array<Vec<T>, F::kStates> values;
    for (std::size_t k = 0; k != states.size(); ++k) values[k] = states[k] ? load(states[k]) : Vec<T>(0);
    optim::advance(formula, common, p, load(gradient), values);
    for (std::size_t k = 0; k != states.size(); ++k) {
      if (states[k]) store(values[k], states[k]);
    }
    store(p, parameter);
  };
  std::int64_t i = 0;
  for (; i + Vec<T>::size <= n; i += Vec<T>::size) {
    step_vector([&](const T* from) { return Vec<T>::load(from + i); },
                [&](Vec<T> values, T* to) { values.store(to + i); });
  }
  if (const int left = static_cast<int>(n - i); left > 0) {
    step_vector([&](const T* from) { return Vec<T>::load_partial(from + i, left, T{0}); },
                [&](Vec<T> values, T* to) { values.store_partial(to + i, left); });
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
