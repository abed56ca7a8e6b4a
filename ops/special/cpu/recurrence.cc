#include <algorithm>
#include <utility>

#include "ops/special/cpu/loops.h"

namespace lamella::cpu {
namespace {

using X = Vec<double>;

/// Number of vectors processed together, which hides the latency of each step.
constexpr int kAtOnce = 4;
constexpr int kBlock = kAtOnce * X::size;

template <int... I>
void run_block(const RecurrenceStep* steps, std::int64_t n, const double* x, double* y,
               std::integer_sequence<int, I...>) {
  const X at[] = {X::load(x + I * X::size)...};
  X last[] = {((void)I, X(0))...};
  X p[] = {((void)I, X(1))...};
  for (std::int64_t k = 0; k < n; ++k) {
    const X a(steps[k].a);
    const X b(steps[k].b);
    const X c(steps[k].c);
    const X next[] = {(a * at[I] + b) * p[I] - c * last[I]...};
    ((last[I] = p[I], p[I] = next[I]), ...);
  }
  (p[I].store(y + I * X::size), ...);
}

template <class T>
void run(const RecurrenceStep* steps, std::int64_t n, const T* x, T* y, std::int64_t count) {
  double wide[kBlock] = {};
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t size = std::min<std::int64_t>(kBlock, count - i);
    std::copy_n(x + i, size, wide);
    run_block(steps, n, wide, wide, std::make_integer_sequence<int, kAtOnce>());
    for (std::int64_t j = 0; j < size; ++j) y[i + j] = static_cast<T>(wide[j]);
  }
}

}  // namespace

void fill_special_recurrence(SpecialTable& table) { table.recurrence = {run<float>, run<double>}; }

}  // namespace lamella::cpu
