#include "ops/sort/unique.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/arrange/arrange.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/extension/extension.h"
#include "ops/index/nonzero.h"
#include "ops/index/rows.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/simd/convert.h"
#include "ops/simd/keys.h"
#include "ops/sort/consecutive.h"
#include "ops/sort/counting.h"
#include "ops/sort/rows.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kPart = std::int64_t{1} << 16;  // elements per task

struct Found {
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

/// Orders by real part, then by imaginary part; NaN is larger than all numbers.
template <class T>
bool comes_before(std::complex<T> a, std::complex<T> b) {
  const auto smaller = [](T p, T q) { return p < q || (p == p && q != q); };
  if (smaller(a.real(), b.real())) return true;
  return !smaller(b.real(), a.real()) && smaller(a.imag(), b.imag());
}

/// Returns the positions of a flat tensor's elements in order; equal elements stay in order.
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

/// True if row a comes before row b, by the first elements that differ.
template <class T>
bool comes_before(const T* a, const T* b, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    if constexpr (requires { a->real(); }) {
      if (comes_before(a[i], b[i])) return true;
      if (comes_before(b[i], a[i])) return false;
    } else {
      const auto first = sorting::key_of(a[i]);
      const auto second = sorting::key_of(b[i]);
      if (first != second) return first < second;
    }
  }
  return false;
}

/// Computes the positions of a matrix's rows in order; equal rows stay in order.
template <class T>
void order_rows(const T* x, std::int64_t* at, std::int64_t n, std::int64_t width) {
  std::iota(at, at + n, 0);
  std::stable_sort(at, at + n,
                   [&](std::int64_t a, std::int64_t b) { return comes_before(x + a * width, x + b * width, width); });
}

/// The results that are wanted besides the values.
enum Wanted : unsigned { kValues = 0, kIndices = 1, kInverse = 2, kCounts = 4 };

void check_known(const OpInfo& info, const Tensor& x) {
  check_defined(x, info.name);
  if (x.device().is_meta()) fail<RuntimeError>("[", info.name, "] the number of values is not known on meta");
  if (is_batched(x)) {
    fail<RuntimeError>("[", info.name,
                       "] under vmap the number of values differs between examples, so the result has no shape");
  }
}

/// Finds unique elements of 8 bits: the counts of their values determine everything except positions.
Found find_unique_bytes(const Tensor& flat, unsigned wanted) {
  const std::int64_t n = flat.numel();
  std::vector<std::pair<std::uint8_t, std::int64_t>> found;
  const auto add = [&found](std::uint8_t byte, std::int64_t count) {
    if (count > 0) found.emplace_back(byte, count);
  };
  if (flat.dtype() == DType::Bool) {
    const std::int64_t ones = *CountNonzero::call(flat, std::nullopt, false).data<std::int64_t>();
    add(0, n - ones);
    add(1, ones);
  } else {
    const std::uint8_t flip = flat.dtype() == DType::Int8 ? sorting::byte_flip<std::int8_t>(false) : 0;
    sorting::ByteSort(n, flip).for_each_value(static_cast<const std::uint8_t*>(flat.raw_data()), add);
  }
  Found unique;
  const auto count = static_cast<std::int64_t>(found.size());
  unique.values = empty({count}, flat.dtype());
  if (wanted & kCounts) unique.counts = empty({count}, DType::Int64);
  for (std::size_t i = 0; i < found.size(); ++i) {
    static_cast<std::uint8_t*>(unique.values.raw_data())[i] = found[i].first;
    if (wanted & kCounts) unique.counts.data<std::int64_t>()[i] = found[i].second;
  }
  return unique;
}

/// Returns the positions of a matrix's rows in order on a device, by a stable sort for each column from the last one
/// on.
Tensor row_order_there(const Tensor& rows, const char* op) {
  const std::int64_t n = rows.size(0);
  Tensor order = arange(0, n, 1, DType::Int64, rows.device());
  const auto sort_by = [&](const Tensor& column) {
    order = take(order, sorted_positions(take(column, order, 0), false, op), 0);
  };
  for (std::int64_t k = rows.size(1); k-- > 0;) {
    const Tensor column = select(rows, 1, k);
    if (is_complex(rows.dtype())) {
      sort_by(contiguous(imag(column)));
      sort_by(contiguous(real(column)));
    } else {
      sort_by(column);
    }
  }
  return order;
}

/// Finds unique rows of a matrix on a device, composed of operators; the inverse has one axis.
Found find_there(const OpInfo& info, const Tensor& rows, unsigned wanted) {
  const Tensor order = row_order_there(rows, info.name);
  const Tensor ordered = gather_rows(rows, order);
  const Tensor begins = beginnings(ordered);
  const Tensor firsts = nonzero(begins)[0];
  Found unique;
  unique.values = gather_rows(ordered, firsts);
  if (wanted & kIndices) unique.indices = take(order, firsts, 0);
  if (wanted & kCounts) {
    const Tensor end = full({1}, Scalar(rows.size(0)), DType::Int64, rows.device());
    unique.counts = diff(concat({firsts, end}, 0));
  }
  // The positions in order of an order are its inverse.
  if (wanted & kInverse)
    unique.inverse = take(cumsum(begins, 0, DType::Int64) - 1, sorted_positions(order, false, info.name), 0);
  return unique;
}

/// True if unique elements are found on a device; those on other devices than the CPU are moved to it.
bool finds_there(Device device) {
  return !device.is_cpu() && has_device_kernel<&DeviceKernels::sort_positions>(device);
}

Found find_unique(const OpInfo& info, const Tensor& x, unsigned wanted) {
  check_known(info, x);
  if (finds_there(x.device())) {
    const autograd::NoGrad no_grad;
    Found unique = find_there(info, reshape(x, {-1, 1}), wanted);
    unique.values = reshape(unique.values, {-1});
    if (unique.inverse.defined()) unique.inverse = reshape(unique.inverse, x.shape());
    note_constant(info.name, {&x}, unique.values);
    return unique;
  }
  if (!x.device().is_cpu()) {
    return on_host(info.name, x.device(), [&](const Tensor& host) { return find_unique(info, host, wanted); }, x);
  }
  const autograd::NoGrad no_grad;
  const Tensor flat = contiguous(reshape(x, Dims{-1}));
  const std::int64_t n = flat.numel();
  const HostRelease release(n);
  Found unique;
  // If no positions are wanted, only the values are sorted.
  const bool positions = is_complex(x.dtype()) || (wanted & (kIndices | kInverse)) != 0;
  if (!positions && item_size(x.dtype()) == 1) {
    unique = find_unique_bytes(flat, wanted);
    note_constant(info.name, {&x}, unique.values);
    return unique;
  }
  const bool integers = positions && (is_integral(x.dtype()) || x.dtype() == DType::Bool);
  Tensor order;
  Tensor ordered;
  if (integers) {
    order = empty({n}, DType::Int64);
    ordered = sorted_integers(flat, order, info.name);
  } else if (positions) {
    order = positions_in_order(flat, info.name);
    ordered = gather_rows(reshape(flat, {n, 1}), order);
  } else {
    ordered = sorted_rows(flat, false, info.name);
  }
  const auto* const at = positions ? order.data<std::int64_t>() : nullptr;
  visit<AnyDType>(x.dtype(), info.name, [&]<class T>() {
    const auto* const sorted = ordered.data<T>();
    const auto begins = [sorted](std::int64_t i) { return i == 0 || !same(sorted[i], sorted[i - 1]); };
    // The number of values that begin in each part determines where the next part writes.
    const std::int64_t parts = (n + kPart - 1) / kPart;
    std::vector<std::int64_t> first(static_cast<std::size_t>(parts) + 1);
    const auto for_each_part = [&](auto&& f) {
      parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p)
          f(static_cast<std::size_t>(p), p * kPart, std::min(n, (p + 1) * kPart));
      });
    };
    for_each_part([&](std::size_t p, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) first[p + 1] += begins(i);
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    const std::int64_t count = first.back();
    unique.values = empty({count}, x.dtype());
    if (wanted & kIndices) unique.indices = empty({count}, DType::Int64);
    if (wanted & kCounts) unique.counts = empty({count}, DType::Int64);
    if (wanted & kInverse) unique.inverse = empty(x.shape(), DType::Int64);
    auto* const values = unique.values.data<T>();
    auto* const indices = wanted & kIndices ? unique.indices.data<std::int64_t>() : nullptr;
    auto* const counts = wanted & kCounts ? unique.counts.data<std::int64_t>() : nullptr;
    auto* const inverse = wanted & kInverse ? unique.inverse.data<std::int64_t>() : nullptr;
    for_each_part([&](std::size_t p, std::int64_t begin, std::int64_t end) {
      std::int64_t value = first[p] - 1;
      for (std::int64_t i = begin; i < end; ++i) {
        if (begins(i)) {
          ++value;
          values[value] = sorted[i];
          if (indices) indices[value] = at[i];
          if (counts) counts[value] = i;
        }
        if (inverse) inverse[at[i]] = value;
      }
    });
    // From the begin of each value follow the counts.
    for (std::int64_t v = 0; counts && v < count; ++v) counts[v] = (v + 1 < count ? counts[v + 1] : n) - counts[v];
  });
  note_constant(info.name, {&x}, unique.values);
  return unique;
}

/// Finds unique slices along an axis; without indices.
Found find_unique_slices(const OpInfo& info, const Tensor& x, std::int64_t axis, unsigned wanted) {
  if (!x.device().is_cpu() && !finds_there(x.device())) {
    const auto find_on_host = [&](const Tensor& host) { return find_unique_slices(info, host, axis, wanted); };
    return on_host(info.name, x.device(), find_on_host, x);
  }
  const autograd::NoGrad no_grad;
  const Tensor front = moveaxis(x, Dims{axis}, Dims{0});
  const std::int64_t n = front.size(0);
  const std::int64_t width = count_elements(DimsView(front.shape()).last(front.ndim() - 1));
  const Tensor rows = contiguous(reshape(front, {n, width}));
  if (finds_there(x.device())) {
    Found unique = find_there(info, rows, wanted);
    Dims shape = front.shape();
    shape[0] = unique.values.size(0);
    unique.values = contiguous(moveaxis(reshape(unique.values, shape), Dims{0}, Dims{axis}));
    note_constant(info.name, {&x}, unique.values);
    return unique;
  }
  const HostRelease release(x.numel());
  const Tensor order = empty({n}, DType::Int64);
  auto* const at = order.data<std::int64_t>();
  Found unique;
  if (wanted & kInverse) unique.inverse = empty({n}, DType::Int64);
  auto* const inverse = wanted & kInverse ? unique.inverse.data<std::int64_t>() : nullptr;
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> counts;
  visit<AnyDType>(x.dtype(), info.name, [&]<class T>() {
    const T* const from = rows.data<T>();
    order_rows(from, at, n, width);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto equal = [&](T a, T b) { return same(a, b); };
      const T* const row = from + at[i] * width;
      if (i == 0 || !std::equal(row, row + width, from + at[i - 1] * width, equal)) {
        firsts.push_back(at[i]);
        counts.push_back(0);
      }
      ++counts.back();
      if (inverse) inverse[at[i]] = static_cast<std::int64_t>(firsts.size()) - 1;
    }
  });
  const auto as_tensor = [](const std::vector<std::int64_t>& values) {
    const Tensor y = empty({static_cast<std::int64_t>(values.size())}, DType::Int64);
    std::ranges::copy(values, y.data<std::int64_t>());
    return y;
  };
  if (wanted & kCounts) unique.counts = as_tensor(counts);
  Dims shape = front.shape();
  shape[0] = static_cast<std::int64_t>(firsts.size());
  unique.values = contiguous(moveaxis(reshape(gather_rows(rows, as_tensor(firsts)), shape), Dims{0}, Dims{axis}));
  note_constant(info.name, {&x}, unique.values);
  return unique;
}

}  // namespace

std::vector<Tensor> Unique::call(const Tensor& x, bool /*sorted: they always are*/, bool return_inverse,
                                 bool return_counts, std::optional<std::int64_t> axis) {
  check_known(info, x);
  const unsigned wanted = (return_inverse ? kInverse : 0U) | (return_counts ? kCounts : 0U);
  const Found unique =
      axis ? find_unique_slices(info, x, static_cast<std::int64_t>(normalize_axis(*axis, x.ndim(), info.name)), wanted)
           : find_unique(info, x, wanted);
  std::vector<Tensor> results{unique.values};
  if (return_inverse) results.push_back(unique.inverse);
  if (return_counts) results.push_back(unique.counts);
  return results;
}

std::vector<Tensor> UniqueAll::call(const Tensor& x) {
  const Found unique = find_unique(info, x, kIndices | kInverse | kCounts);
  return {unique.values, unique.indices, unique.inverse, unique.counts};
}

std::vector<Tensor> UniqueCounts::call(const Tensor& x) {
  const Found unique = find_unique(info, x, kCounts);
  return {unique.values, unique.counts};
}

std::vector<Tensor> UniqueInverse::call(const Tensor& x) {
  const Found unique = find_unique(info, x, kInverse);
  return {unique.values, unique.inverse};
}

Tensor UniqueValues::call(const Tensor& x) { return find_unique(info, x, kValues).values; }

}  // namespace lamella
