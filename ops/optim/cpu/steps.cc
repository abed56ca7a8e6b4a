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

template <class T, class Body>
void over_slices(std::int64_t n, Body&& body) {
  for (std::int64_t i = 0; i < n; i += Vec<T>::size) body(Slice<T>{i, n - i});
}

template <class T>
void sgd(const optim::SgdNumbers<T>& numbers, std::int64_t n, T* parameter, const T* gradient, T* velocity) {
  if (!velocity) {
    over_slices<T>(n, [&](Slice<T> slice) {
      const Vec<T> p = slice.load(parameter);
      slice.store(p - optim::penalized(numbers, p, slice.load(gradient)) * numbers.rate, parameter);
    });
    return;
  }
  over_slices<T>(n, [&](Slice<T> slice) {
    const Vec<T> p = slice.load(parameter);
    const Vec<T> g = optim::penalized(numbers, p, slice.load(gradient));
    const Vec<T> v = optim::next_velocity(numbers, g, slice.load(velocity));
    slice.store(v, velocity);
    slice.store(p - optim::sgd_step(numbers, g, v), parameter);
  });
}

template <class T>
void adam(const optim::AdamNumbers<T>& numbers, std::int64_t n, T* parameter, const T* gradient, T* mean, T* square,
          T* largest) {
  over_slices<T>(n, [&](Slice<T> slice) {
    const Vec<T> p = slice.load(parameter) * numbers.shrink;
    const Vec<T> g = optim::penalized(numbers, p, slice.load(gradient));
    const Vec<T> m = optim::next_mean(numbers, g, slice.load(mean));
    const Vec<T> v = optim::next_square(numbers, g, slice.load(square));
    slice.store(m, mean);
    slice.store(v, square);
    Vec<T> w = v;
    if (largest) {
      w = maximum(slice.load(largest), v);
      slice.store(w, largest);
    }
    slice.store(p - optim::adam_step(numbers, m, w), parameter);
  });
}

}  // namespace

void fill_optimizer(OptimizerTable& table) {
  table.float32 = {sgd<float>, adam<float>};
  table.float64 = {sgd<double>, adam<double>};
}

}  // namespace lamella::cpu
