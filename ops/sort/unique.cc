#include "ops/sort/unique.h"

#include <algorithm>
#include <complex>
#include <numeric>

#include "engine/autograd/modes.h"
#include "ops/extension/extension.h"
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

Unique find_unique(const OpInfo& info, const Tensor& x) {
  check_defined(x, info.name);
  if (!x.device().is_cpu()) {
    if (x.device().is_meta()) fail<RuntimeError>("[", info.name, "] the number of values is not known on meta");
    return on_host(info.name, x.device(), [&](const Tensor& host) { return find_unique(info, host); }, x);
  }
  if (is_batched(x)) {
    fail<RuntimeError>("[", info.name,
                       "] under vmap the number of values differs from example to example, and has no shape");
  }
  const autograd::NoGrad no_grad;
  const Tensor flat = contiguous(reshape(x, Dims{-1}));
  const std::int64_t n = flat.numel();
  const Tensor order = positions_in_order(flat, info.name);
  const auto* const at = order.data<std::int64_t>();
  Unique unique;
  unique.inverse = empty(x.shape(), DType::Int64);
  auto* const place = unique.inverse.data<std::int64_t>();
  visit<AnyDType>(x.dtype(), info.name, [&]<class T>() {
    const T* from = flat.data<T>();
    std::vector<std::int64_t> firsts;  // where in the order each value begins
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == 0 || !same(from[at[i]], from[at[i - 1]])) firsts.push_back(i);
      place[at[i]] = static_cast<std::int64_t>(firsts.size()) - 1;
    }
    const auto count = static_cast<std::int64_t>(firsts.size());
    unique.values = empty({count}, x.dtype());
    unique.indices = empty({count}, DType::Int64);
    unique.counts = empty({count}, DType::Int64);
    firsts.push_back(n);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = firsts[static_cast<std::size_t>(i)];
      unique.values.data<T>()[i] = from[at[first]];
      unique.indices.data<std::int64_t>()[i] = at[first];
      unique.counts.data<std::int64_t>()[i] = firsts[static_cast<std::size_t>(i) + 1] - first;
    }
  });
  note_constant(info.name, {&x}, unique.values);
  return unique;
}

}  // namespace

std::vector<Tensor> UniqueAll::call(const Tensor& x) {
  const Unique unique = find_unique(info, x);
  return {unique.values, unique.indices, unique.inverse, unique.counts};
}

std::vector<Tensor> UniqueCounts::call(const Tensor& x) {
  const Unique unique = find_unique(info, x);
  return {unique.values, unique.counts};
}

std::vector<Tensor> UniqueInverse::call(const Tensor& x) {
  const Unique unique = find_unique(info, x);
  return {unique.values, unique.inverse};
}

Tensor UniqueValues::call(const Tensor& x) { return find_unique(info, x).values; }

}  // namespace lamella
