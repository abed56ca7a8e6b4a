#include "ops/sort/unique.h"

#include <algorithm>
#include <complex>
#include <numeric>

#include "engine/autograd/modes.h"
#include "engine/core/host.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/movement/convert.h"
#include "ops/shape/reshape.h"
#include "ops/sort/rows.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

struct Unique {
  Tensor values;
  Tensor indices;
  Tensor inverse;
  Tensor counts;
};

template <class T>
bool same(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(a) == static_cast<float>(b);
  } else {
    return a == b;
  }
}

/// By real part, then by imaginary part; NaN is larger than all numbers.
template <class T>
bool comes_before(std::complex<T> a, std::complex<T> b) {
  const auto smaller = [](T p, T q) { return p < q || (p == p && q != q); };
  if (smaller(a.real(), b.real())) return true;
  return !smaller(b.real(), a.real()) && smaller(a.imag(), b.imag());
}

/// The positions of a flat tensor's elements in order, equal ones as they stand.
Tensor positions_in_order(const Tensor& flat, const char* op) {
  if (!is_complex(flat.dtype())) return sorted_positions(flat, false, op);
  const Tensor positions = empty({flat.numel()}, DType::Int64);
  auto* const at = positions.data<std::int64_t>();
  std::iota(at, at + flat.numel(), 0);
  visit<Complex>(flat.dtype(), op, [&]<class T>() {
    const T* x = flat.data<T>();
    std::stable_sort(at, at + flat.numel(), [x](std::int64_t a, std::int64_t b) { return comes_before(x[a], x[b]); });
  });
  return positions;
}

/// What is to be found beside the values.
enum Wanted : unsigned { kValues = 0, kIndices = 1, kInverse = 2, kCounts = 4 };

Unique find_unique(const OpInfo& info, const Tensor& x, unsigned wanted) {
  check_defined(x, info.name);
  if (!x.device().is_cpu()) {
    if (x.device().is_meta()) fail<RuntimeError>("[", info.name, "] the number of values is not known on meta");
    return on_host(info.name, x.device(), [&](const Tensor& host) { return find_unique(info, host, wanted); }, x);
  }
  if (is_batched(x)) {
    fail<RuntimeError>("[", info.name,
                       "] under vmap the number of values differs from example to example, and has no shape");
  }
  const autograd::NoGrad no_grad;
  const Tensor flat = contiguous(reshape(x, Dims{-1}));
  const std::int64_t n = flat.numel();
  const HostRelease release(n);
  Unique unique;
  // Without positions the values alone are sorted.
  const bool positions = is_complex(x.dtype()) || (wanted & (kIndices | kInverse)) != 0;
  const Tensor order = positions ? positions_in_order(flat, info.name) : Tensor();
  const auto* const at = positions ? order.data<std::int64_t>() : nullptr;
  const Tensor ordered = positions ? gather_rows(reshape(flat, {n, 1}), order) : sorted_rows(flat, false, info.name);
  visit<AnyDType>(x.dtype(), info.name, [&]<class T>() {
    const auto* const sorted = ordered.data<T>();
    const auto begins = [sorted](std::int64_t i) { return i == 0 || !same(sorted[i], sorted[i - 1]); };
    std::int64_t count = n > 0;
    for (std::int64_t i = 1; i < n; ++i) count += begins(i);
    unique.values = empty({count}, x.dtype());
    if (wanted & kIndices) unique.indices = empty({count}, DType::Int64);
    if (wanted & kCounts) unique.counts = empty({count}, DType::Int64);
    if (wanted & kInverse) unique.inverse = empty(x.shape(), DType::Int64);
    auto* const values = unique.values.data<T>();
    auto* const indices = wanted & kIndices ? unique.indices.data<std::int64_t>() : nullptr;
    auto* const counts = wanted & kCounts ? unique.counts.data<std::int64_t>() : nullptr;
    auto* const inverse = wanted & kInverse ? unique.inverse.data<std::int64_t>() : nullptr;
    std::int64_t value = -1;
    for (std::int64_t i = 0; i < n; ++i) {
      if (begins(i)) {
        ++value;
        values[value] = sorted[i];
        if (indices) indices[value] = at[i];
        if (counts) counts[value] = 0;
      }
      if (counts) ++counts[value];
      if (inverse) inverse[at[i]] = value;
    }
  });
  note_constant(info.name, {&x}, unique.values);
  return unique;
}

}  // namespace

std::vector<Tensor> UniqueAll::call(const Tensor& x) {
  const Unique unique = find_unique(info, x, kIndices | kInverse | kCounts);
  return {unique.values, unique.indices, unique.inverse, unique.counts};
}

std::vector<Tensor> UniqueCounts::call(const Tensor& x) {
  const Unique unique = find_unique(info, x, kCounts);
  return {unique.values, unique.counts};
}

std::vector<Tensor> UniqueInverse::call(const Tensor& x) {
  const Unique unique = find_unique(info, x, kInverse);
  return {unique.values, unique.inverse};
}

Tensor UniqueValues::call(const Tensor& x) { return find_unique(info, x, kValues).values; }

}  // namespace lamella
