#include "ops/cpu/resample_table.h"

#include <algorithm>

namespace lamella::cpu {
namespace {

template <class T>
void gather(const ResampleArgs<T>& a) {
  if (a.inner == 1) {
    for (std::int64_t o = 0; o < a.out; ++o) {
      T sum = 0;
      for (std::int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) sum += a.weight[k] * a.from[a.index[k]];
      a.to[o] = sum;
    }
    return;
  }
  for (std::int64_t o = 0; o < a.out; ++o) {
    T* __restrict to = a.to + o * a.inner;
    for (std::int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
      const T* __restrict from = a.from + a.index[k] * a.inner;
      const T weight = a.weight[k];
      if (k == o * a.taps) {
        for (std::int64_t i = 0; i < a.inner; ++i) to[i] = weight * from[i];
      } else {
        for (std::int64_t i = 0; i < a.inner; ++i) to[i] += weight * from[i];
      }
    }
  }
}

template <class T>
void scatter(const ResampleArgs<T>& a) {
  std::fill_n(a.to, a.in * a.inner, T(0));
  for (std::int64_t o = 0; o < a.out; ++o) {
    const T* __restrict from = a.from + o * a.inner;
    for (std::int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
      T* __restrict to = a.to + a.index[k] * a.inner;
      const T weight = a.weight[k];
      for (std::int64_t i = 0; i < a.inner; ++i) to[i] += weight * from[i];
    }
  }
}

}  // namespace

void fill_resample(ResampleTable& table) {
  table.float32 = {&gather<float>, &scatter<float>};
  table.float64 = {&gather<double>, &scatter<double>};
}

}  // namespace lamella::cpu
