#include "ops/sort/search.h"

#include <algorithm>

#include "engine/autograd/modes.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/list.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/shape/reshape.h"
#include "ops/sort/keys.h"
#include "ops/sort/pick.h"
#include "ops/sort/rows.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 2048;  // searches that one thread does at a time

/// How many of the n elements at x come before `key`: those that are smaller, or with kRight equal as well. Without
/// branches, so that searches of random keys do not wait for predictions.
template <bool kRight, class T>
std::int64_t count_before(const T* x, std::int64_t n, sorting::Key<T> key) {
  const T* first = x;
  while (n > 0) {
    const std::int64_t half = (n + 1) / 2;
    const sorting::Key<T> middle = sorting::key_of(first[half - 1]);
    const bool behind = kRight ? middle <= key : middle < key;
    first += behind ? half : 0;
    n = behind ? n - half : half - 1;
  }
  return first - x;
}

/// `row` elements are searched for in each row of x1; in its only one where `shared`.
template <class T>
void search(const Tensor& x1, const Tensor& x2, const Tensor& y, std::int64_t row, bool shared, bool right) {
  const std::int64_t n = x1.shape().back();
  const HostRelease release(x2.numel());
  parallel_for(0, x2.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    const T* values = x2.data<T>();
    for (std::int64_t i = begin; i < end; ++i) {
      const T* const sorted = x1.data<T>() + (shared ? 0 : i / row * n);
      const sorting::Key<T> key = sorting::key_of(values[i]);
      y.data<std::int64_t>()[i] = right ? count_before<true>(sorted, n, key) : count_before<false>(sorted, n, key);
    }
  });
}

/// x1's elements in the order of `sorter`.
Tensor in_order(const Tensor& x1, const Tensor& sorter) {
  const char* const op = SearchSorted::info.name;
  if (!is_integral(sorter.dtype())) fail<TypeError>("[searchsorted] sorter holds positions, got ", sorter.dtype());
  if (sorter.shape() != x1.shape()) {
    fail<ValueError>("[searchsorted] sorter has x1's shape, ", x1.shape(), ", got ", sorter.shape());
  }
  const Tensor positions = contiguous(cast(sorter, DType::Int64));
  if (positions.device().is_cpu()) {
    const Tensor all = is_batched(positions) ? contiguous(physical(positions, *positions->hidden)) : positions;
    const auto* const at = all.data<std::int64_t>();
    for (std::int64_t i = 0; i < all.numel(); ++i) {
      if (at[i] >= 0 && at[i] < x1.shape().back()) continue;
      fail<IndexError>("[searchsorted] sorter has the position ", at[i], ", x1 has ", x1.shape().back(), " elements");
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
    // One row for all examples, or a row for each.
    if (!is_batched(x1)) return hide_in_place(search_sorted(x1, values, right), axes);
    Dims rows = with_axes(axes, {});
    rows.push_back(x2.numel());
    return hide_in_place(reshape(search_sorted(whole(x1), reshape(values, rows), right), values.shape()), axes);
  }
  const bool shared = x1.ndim() == 1;
  const Tensor y = empty(x2.shape(), DType::Int64, x2.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
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

/// The operands as tensors of one dtype.
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
  if (!(Real | Boolean).contains(dtype)) fail<TypeError>("[", op, "] does not take dtype ", dtype);
  return {cast(x, dtype), cast(y, dtype)};
}

}  // namespace

Tensor SearchSorted::call(const Tensor& x1, const Operand& x2, std::string_view side,
                          const std::optional<Tensor>& sorter) {
  check_defined(x1, info.name);
  if (side != "left" && side != "right") fail<ValueError>("[searchsorted] side is 'left' or 'right', got '", side, "'");
  if (x1.ndim() == 0) fail<ValueError>("[searchsorted] x1 needs at least one axis to be in order along");
  const autograd::NoGrad no_grad;
  const auto [sorted, values] = promoted(sorter ? in_order(x1, *sorter) : x1, x2, info.name);
  if (sorted.ndim() > 1) {
    const auto rows = [](const Tensor& x) { return DimsView(x.shape()).first(x.ndim() > 0 ? x.ndim() - 1 : 0); };
    if (values.ndim() != sorted.ndim() || !std::ranges::equal(rows(sorted), rows(values))) {
      fail<ValueError>("[searchsorted] x1 with several axes has x2's shape but for the last axis, got ", x1.shape(),
                       " and ", values.shape());
    }
  }
  Tensor y = search_sorted(sorted, values, side == "right");
  note_constant(info.name, {&x1}, y);
  return y;
}

Tensor IsIn::call(const Operand& x1, const Operand& x2, bool invert) {
  const autograd::NoGrad no_grad;
  const auto [values, among] = promoted(x1, x2, info.name);
  const Tensor ordered = sorted_rows(reshape(among, Dims{-1}), false, info.name);
  const Tensor before = search_sorted(ordered, values, false);
  const Tensor behind = search_sorted(ordered, values, true);
  // All NaNs are one to a search, and none to a comparison.
  const Tensor found = less(before, behind);
  const Tensor result = is_floating(values.dtype()) ? logical_and(found, equal(values, values)) : found;
  return invert ? logical_not(result) : result;
}

}  // namespace lamella
