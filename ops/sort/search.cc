#include "ops/sort/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/logical.h"
#include "ops/extension/extension.h"
#include "ops/index/picks.h"
#include "ops/movement/cast.h"
#include "ops/movement/pick_along.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/reshape.h"
#include "ops/simd/keys.h"
#include "ops/sort/rows.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtype_limits.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 2048;  // searches per task

/// Number of interleaved searches, so that one waits for memory while the others proceed.
constexpr std::int64_t kSearches = 8;

/// Counts for several keys how many of the n sorted elements at x come before each: those that are smaller or, with
/// kRight, equal. All searches take the same branch-free steps, so that none waits for branch predictions. The key of
/// an element is key(element).
template <bool kRight, std::int64_t kCount, class T, class K, class KeyOf>
void count_before(const T* x, std::int64_t n, const K* keys, const KeyOf& key, std::int64_t* out) {
  const auto behind = [&](const T& element, K wanted) {
    return kRight ? key(element) <= wanted : key(element) < wanted;
  };
  const T* first[kCount];
  for (const T*& each : first) each = x;
  while (n > 1) {
    const std::int64_t half = n / 2;
    for (std::int64_t k = 0; k < kCount; ++k) first[k] += half & -std::int64_t{behind(first[k][half - 1], keys[k])};
    n -= half;
  }
  for (std::int64_t k = 0; k < kCount; ++k) out[k] = first[k] - x + (n == 1 && behind(*first[k], keys[k]));
}

/// Finds the insertion points of `count` values in the n sorted elements at x.
template <bool kRight, class T>
void search_row(const T* x, std::int64_t n, const T* values, std::int64_t count, std::int64_t* out) {
  const auto run = [&]<class K>(const auto& key_of_value, const auto& key_of_element, K) {
    std::int64_t i = 0;
    K keys[kSearches];
    for (; i + kSearches <= count; i += kSearches) {
      for (std::int64_t k = 0; k < kSearches; ++k) keys[k] = key_of_value(values[i + k]);
      count_before<kRight, kSearches>(x, n, keys, key_of_element, out + i);
    }
    for (; i < count; ++i) {
      keys[0] = key_of_value(values[i]);
      count_before<kRight, 1>(x, n, keys, key_of_element, out + i);
    }
  };
  if constexpr (std::is_arithmetic_v<T>) {
    const auto itself = [](T value) { return value; };
    // Numbers can be compared directly, with NaNs at the end of x as well, unless a NaN is searched for.
    if (!std::is_floating_point_v<T> || std::none_of(values, values + count, [](T v) { return v != v; }))
      return run(itself, itself, T());
  }
  const auto key = [](T value) { return sorting::key_of(value); };
  run(key, key, sorting::Key<T>());
}

/// Searches for `row` elements in each row of x1, or in its only row if `shared`.
template <class T>
void search(const Tensor& x1, const Tensor& x2, const Tensor& y, std::int64_t row, bool shared, bool right) {
  const std::int64_t n = x1.shape().back();
  const auto* const sorted = x1.data<T>();
  const auto* const values = x2.data<T>();
  auto* const places = y.data<std::int64_t>();
  const HostRelease release(x2.numel());
  parallel_for(0, x2.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t r = shared ? 0 : begin / row;
      const std::int64_t here = shared ? end - begin : std::min(end, (r + 1) * row) - begin;
      const auto run = right ? search_row<true, T> : search_row<false, T>;
      run(sorted + r * n, n, values + begin, here, places + begin);
      begin += here;
    }
  });
}

/// A hash set of elements' keys with open addressing: a key is at the slot that its hash gives, or behind it.
template <class T>
class ElementSet {
 public:
  using Key = sorting::Key<T>;

  ElementSet(const T* elements, std::int64_t count)
      : bits_(std::bit_width(static_cast<std::uint64_t>(count)) + 1), keys_(std::size_t{1} << bits_, kNone) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!sorting::is_nan(elements[i])) add(sorting::key_of(elements[i]));
    }
  }
  bool has(T element) const {
    const Key key = sorting::key_of(element);
    if (key == kNone) return has_last_;
    for (std::size_t at = place_of(key);; at = next(at)) {
      if (keys_[at] == key) return true;
      if (keys_[at] == kNone) return false;
    }
  }

 private:
  /// Marks an empty slot: the key of NaN, which equals nothing, or of the largest integer.
  static constexpr Key kNone = std::numeric_limits<Key>::max();

  void add(Key key) {
    if (key == kNone) {
      has_last_ = true;
      return;
    }
    std::size_t at = place_of(key);
    while (keys_[at] != kNone && keys_[at] != key) at = next(at);
    keys_[at] = key;
  }
  /// Returns the upper bits of the product with the golden ratio's bits, which spreads neighbors.
  std::size_t place_of(Key key) const {
    return static_cast<std::size_t>((key * std::uint64_t{0x9E3779B97F4A7C15}) >> (64 - bits_));
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (keys_.size() - 1); }

  int bits_;
  std::vector<Key> keys_;
  bool has_last_ = false;
};

Tensor search_sorted(const Tensor& x1, const Tensor& x2, bool right);

/// Returns what is_among() does on a device, for contiguous tensors with `examples` in front.
Tensor found_by_search(const Tensor& asked, const Tensor& given, std::int64_t examples, bool invert) {
  if (given.numel() == 0) return full(asked.shape(), Scalar(invert), DType::Bool, asked.device());
  const Tensor values = reshape(asked, {examples, -1});
  const Tensor ordered = sorted_rows(reshape(given, {examples, -1}), false, IsIn::info.name);
  const Tensor places = minimum(search_sorted(ordered, values, false), ordered.shape().back() - 1);
  const Tensor nearest = pick_along(ordered, places, 1, IsIn::info.name);
  return reshape(invert ? not_equal(nearest, values) : equal(nearest, values), asked.shape());
}

/// Returns whether each value is (or, if `invert`, is not) among the elements of a tensor with one axis; off the tape.
Tensor is_among(const Tensor& values, const Tensor& among, bool invert) {
  const char* const op = IsIn::info.name;
  if (is_batched(values) && !is_batched(among)) {
    const HiddenAxes axes = *values->hidden;
    return hide_in_place(is_among(physical(values, axes), among, invert), axes);
  }
  const HiddenAxes axes = hidden_axes(pointers(values, among));
  const auto whole = [&](const Tensor& x) { return contiguous(physical(x, axes, 0, MissingAxis::Repeated)); };
  const Tensor asked = whole(values);
  const Tensor given = whole(among);
  const Tensor found = empty(asked.shape(), DType::Bool, asked.device());
  if (found.device().is_meta() || found.numel() == 0) return hide_in_place(found, axes);
  if (has_device_kernel<&DeviceKernels::search_sorted>(found.device()))
    return hide_in_place(found_by_search(asked, given, count_elements(with_axes(axes, {})), invert), axes);
  if (!found.device().is_cpu()) {
    const auto look_there = [&](const Tensor& a, const Tensor& b) {
      return physical(is_among(hide_in_place(a, axes), hide_in_place(b, axes), invert), axes);
    };
    return hide_in_place(on_host(op, found.device(), look_there, asked, given), axes);
  }
  const HostRelease release(asked.numel() + given.numel());
  // Each example has a set of its own.
  const std::int64_t examples = count_elements(with_axes(axes, {}));
  const std::int64_t each = asked.numel() / examples;
  visit<Real | Boolean>(asked.dtype(), op, [&]<class T>() {
    for (std::int64_t example = 0; example < examples; ++example) {
      const ElementSet<T> set(given.data<T>() + example * among.numel(), among.numel());
      const T* const from = asked.data<T>() + example * each;
      bool* const to = found.data<bool>() + example * each;
      parallel_for(0, each, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = set.has(from[i]) != invert;
      });
    }
  });
  return hide_in_place(found, axes);
}

/// Returns x1's elements in the order of `sorter`.
Tensor in_order(const Tensor& x1, const Tensor& sorter) {
  const char* const op = SearchSorted::info.name;
  if (!is_integral(sorter.dtype()))
    fail<TypeError>("[searchsorted] sorter must hold integers, got dtype ", sorter.dtype());
  if (sorter.shape() != x1.shape()) {
    fail<ValueError>("[searchsorted] sorter must have x1's shape, ", x1.shape(), ", got ", sorter.shape());
  }
  const Tensor positions = contiguous(as_index(sorter, op));
  const std::int64_t n = x1.shape().back();
  const Tensor whole = is_batched(positions) ? contiguous(physical(positions, *positions->hidden)) : positions;
  const auto all_inside = [&] {
    const Tensor inside = all(logical_and(greater_equal(whole, 0), less(whole, n)));
    return *to_device(inside, kCPU).data<bool>();
  };
  if (!whole.device().is_meta() && (whole.device().is_cpu() || !all_inside())) {
    const Tensor host = to_device(whole, kCPU);
    const auto* const at = host.data<std::int64_t>();
    for (std::int64_t i = 0; i < host.numel(); ++i) {
      if (at[i] >= 0 && at[i] < n) continue;
      fail<IndexError>("[searchsorted] sorter must hold positions from 0 to ", n - 1, ", got ", at[i]);
    }
  }
  return pick_along(x1, positions, static_cast<std::int64_t>(x1.ndim()) - 1, op);
}

Tensor search_sorted(const Tensor& x1, const Tensor& x2, bool right) {
  const char* const op = SearchSorted::info.name;
  if (is_batched(x1) || is_batched(x2)) [[unlikely]] {
    const HiddenAxes axes = hidden_axes(pointers(x1, x2));
    const auto whole = [&](const Tensor& x) { return physical(x, axes, 0, MissingAxis::Repeated); };
    const Tensor values = whole(x2);
    if (x1.ndim() > 1) return hide_in_place(search_sorted(whole(x1), values, right), axes);
    // A single row serves all examples, or each has one of its own.
    if (!is_batched(x1)) return hide_in_place(search_sorted(x1, values, right), axes);
    Dims rows = with_axes(axes, {});
    rows.push_back(x2.numel());
    return hide_in_place(reshape(search_sorted(whole(x1), reshape(values, rows), right), values.shape()), axes);
  }
  const bool shared = x1.ndim() == 1;
  Tensor y = empty(x2.shape(), DType::Int64, x2.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<&DeviceKernels::search_sorted>(y.device())) {
    device_kernel<&DeviceKernels::search_sorted>(y.device(), op)(contiguous(x1), contiguous(x2), right, y, op);
    return y;
  }
  if (!y.device().is_cpu()) {
    const auto search_there = [right](const Tensor& a, const Tensor& b) { return search_sorted(a, b, right); };
    return on_host(op, y.device(), search_there, x1, x2);
  }
  const Tensor sorted = contiguous(x1);
  const Tensor values = contiguous(x2);
  visit<Real | Boolean>(sorted.dtype(), op, [&]<class T>() {
    search<T>(sorted, values, y, shared ? 1 : x2.shape().back(), shared, right);
  });
  return y;
}

/// Returns the operands as tensors of one dtype.
std::pair<Tensor, Tensor> promoted(const Operand& a, const Operand& b, const char* op) {
  if (a.is_number() && b.is_number()) fail<TypeError>("[", op, "] at least one argument must be a Tensor");
  const Tensor& known = a.is_number() ? b.tensor() : a.tensor();
  check_defined(known, op);
  const auto as_tensor = [&](const Operand& x) {
    if (!x.is_number()) return x.tensor();
    const bool whole = x.number().kind() != Scalar::Kind::Float;
    const DType dtype = whole || is_floating(known.dtype()) ? known.dtype() : kDefaultFloat;
    return to_device(number_tensor(x.number(), dtype), known.device());
  };
  const Tensor x = as_tensor(a);
  const Tensor y = as_tensor(b);
  check_same_device(x, y, op);
  const DType dtype = promote_types(x.dtype(), y.dtype());
  if (!(Real | Boolean).contains(dtype)) refuse_dtype(dtype, Real | Boolean, op);
  return {cast(x, dtype), cast(y, dtype)};
}

/// True if elements of the dtype can be equal to a number.
bool may_equal(const Scalar& number, DType dtype) {
  if (dtype != DType::Bool || number.kind() != Scalar::Kind::Int) return fits_into(number, dtype);
  return number.to<double>() == 0 || number.to<double>() == 1;
}

}  // namespace

Tensor SearchSorted::call(const Tensor& x1, const Operand& x2, std::string_view side,
                          const std::optional<Tensor>& sorter) {
  check_defined(x1, info.name);
  if (side != "left" && side != "right")
    fail<ValueError>("[searchsorted] side must be 'left' or 'right', got '", side, "'");
  if (x1.ndim() == 0) fail<ValueError>("[searchsorted] x1 must have at least one axis, got a 0-d tensor");
  const autograd::NoGrad no_grad;
  const auto [sorted, values] = promoted(sorter ? in_order(x1, *sorter) : x1, x2, info.name);
  if (sorted.ndim() > 1) {
    const auto rows = [](const Tensor& x) { return DimsView(x.shape()).first(x.ndim() > 0 ? x.ndim() - 1 : 0); };
    if (values.ndim() != sorted.ndim() || !std::ranges::equal(rows(sorted), rows(values))) {
      fail<ValueError>("[searchsorted] x1 with several axes must have x2's shape except for the last axis, got ",
                       x1.shape(), " and ", values.shape());
    }
  }
  Tensor y = search_sorted(sorted, values, side == "right");
  note_constant(info.name, {&x1}, y);
  return y;
}

Tensor IsIn::call(const Operand& x1, const Operand& x2, bool invert) {
  const autograd::NoGrad no_grad;
  // No tensor has an element equal to an integer that its dtype does not hold.
  if (!x1.is_number() && x2.is_number() && x1.tensor().defined() && !may_equal(x2.number(), x1.tensor().dtype()))
    return invert ? not_equal(x1, x2) : equal(x1, x2);
  if (x1.is_number() && !x2.is_number() && x2.tensor().defined() && !may_equal(x1.number(), x2.tensor().dtype()))
    return full({}, invert, DType::Bool, x2.tensor().device());
  const auto [values, among] = promoted(x1, x2, info.name);
  return is_among(values, reshape(among, Dims{-1}), invert);
}

Tensor Bucketize::call(const Tensor& x, const Tensor& boundaries, bool right) {
  check_defined(x, info.name);
  check_defined(boundaries, info.name);
  if (boundaries.ndim() != 1) fail<ValueError>("[bucketize] boundaries must have one axis, got ", boundaries.shape());
  return searchsorted(boundaries, x, right ? "right" : "left");
}

}  // namespace lamella
