// Matrices described by their diagonals.

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/arrange/triangle.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Returns the diagonal number of each element of a matrix: its column minus its row.
Tensor diagonals(std::int64_t rows, std::int64_t columns, Device device) {
  const Tensor row = arange(rows, std::nullopt, 1, DType::Int64, device);
  const Tensor column = arange(columns, std::nullopt, 1, DType::Int64, device);
  return subtract(column, expand_dims(row, 1));
}

/// Calls f(byte offset in x, row number, columns that it keeps, number of rows) for each row of the matrices in the
/// last two axes of x. Rows before the first and after the last one that the diagonal crosses are reported by one call
/// each.
template <class F>
void for_each_row(const Tensor& x, Side side, std::int64_t k, F&& f) {
  if (x.device().is_meta() || x.numel() == 0) return;
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = x.size(-1);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const auto matrix_begin = [&](std::int64_t matrix) {
    std::int64_t offset = 0;
    for (std::size_t axis = x.ndim() - 2; axis-- > 0;) {
      offset += matrix % x.shape()[axis] * x.strides()[axis];
      matrix /= x.shape()[axis];
    }
    return offset;
  };
  const std::int64_t step = x.strides()[x.ndim() - 2];
  const std::int64_t diagonal = std::clamp(k, -rows, columns);
  const std::int64_t first_met = (side == Side::Lower ? 0 : 1) - diagonal;
  const std::int64_t last_met = first_met + columns - 1;
  const HostRelease release(x.numel());
  parallel_for(0, x.numel() / columns, std::max<std::int64_t>(1, kElementGrain / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 while (begin < end) {
                   const std::int64_t first = begin % rows;
                   const std::int64_t last = std::min(rows, first + end - begin);
                   const std::int64_t offset = matrix_begin(begin / rows);
                   const auto call = [&](std::int64_t row, std::int64_t alike) {
                     f((offset + row * step) * item, begin + row - first, kept_columns(side, row, columns, diagonal),
                       alike);
                   };
                   const std::int64_t from = std::clamp(first_met, first, last);
                   const std::int64_t to = std::clamp(last_met, first, last);
                   if (first < from) call(first, from - first);
                   for (std::int64_t row = from; row < to; ++row) call(row, 1);
                   if (to < last) call(to, last - to);
                   begin += last - first;
                 }
               });
}

/// Sets `count` elements of `size` bytes, `step` bytes apart, to 0.
void clear(char* to, std::int64_t step, std::int64_t count, std::size_t size) {
  if (step == static_cast<std::int64_t>(size)) {
    std::memset(to, 0, static_cast<std::size_t>(count) * size);
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) std::memset(to + j * step, 0, size);
}

/// Sets the elements outside of the triangle to 0, in place. The lower triangle of a matrix is the upper one of its
/// transpose.
void clear_rest(const Tensor& x, Side side, std::int64_t k) {
  if (is_batched(x)) [[unlikely]]
    return clear_rest(physical(x, *x->hidden), side, k);
  if (std::abs(x.strides().back()) > std::abs(x.strides()[x.ndim() - 2])) {
    // Clamped first, because the smallest integer has no negation.
    const std::int64_t diagonal = std::clamp(k, -x.size(-2), x.size(-1));
    return clear_rest(swapaxes(x, -2, -1), side == Side::Lower ? Side::Upper : Side::Lower, -diagonal);
  }
  const std::size_t size = item_size(x.dtype());
  const std::int64_t step = x.strides().back() * static_cast<std::int64_t>(size);
  const std::int64_t columns = x.size(-1);
  const std::int64_t row_step = x.strides()[x.ndim() - 2] * static_cast<std::int64_t>(size);
  char* const data = x->data;
  for_each_row(x, side, k, [=](std::int64_t offset, std::int64_t, Kept kept, std::int64_t alike) {
    const std::int64_t count = columns - (kept.last - kept.first);
    if (count == 0) return;
    char* to = data + offset + (side == Side::Upper ? 0 : kept.last * step);
    for (std::int64_t i = 0; i < alike; ++i, to += row_step) clear(to, step, count, size);
  });
}

/// Returns a triangle of the matrices in the last two axes of x.
Tensor triangle(const Tensor& x, Side side, std::int64_t k) {
  if (is_batched(x)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return triangle(shown, side, k); }, x);
  const Tensor out = empty(x.shape(), x.dtype(), x.device());
  if (x.strides().back() != 1) {
    write_values(out, x, "triangle");
    clear_rest(out, side, k);
    return out;
  }
  const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * item_size(x.dtype()); };
  const std::int64_t columns = x.size(-1);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const auto copy = cpu_kernels().movement.copy[std::countr_zero(item_size(x.dtype()))];
  for_each_row(x, side, k, [&](std::int64_t offset, std::int64_t r, Kept kept, std::int64_t alike) {
    char* const to = out->data + bytes(r * columns);
    if (alike > 1) {
      // The rows are either kept whole or cleared.
      if (kept.first == kept.last) {
        std::memset(to, 0, bytes(alike * columns));
      } else {
        copy({.to = to,
              .from = x->data + offset,
              .outer = alike,
              .inner = columns,
              .to_outer = columns * item,
              .to_inner = item,
              .from_outer = x.strides()[x.ndim() - 2] * item,
              .from_inner = item});
      }
      return;
    }
    std::memset(to, 0, bytes(kept.first));
    std::memcpy(to + bytes(kept.first), x->data + offset + bytes(kept.first), bytes(kept.last - kept.first));
    std::memset(to + bytes(kept.last), 0, bytes(columns - kept.last));
  });
  return out;
}

struct TriangleFn : LinearOperatorLayer<TriangleFn> {
  static constexpr std::string_view name = "triangle";

  static Tensor forward(Context& ctx, const Tensor& x, Side side, std::int64_t k) {
    if (ctx.recording()) ctx.state<std::pair<Side, std::int64_t>>() = {side, k};
    return triangle(x, side, k);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [side, k] = ctx.state<std::pair<Side, std::int64_t>>();
    return apply(dy, side, k);
  }
};

Tensor checked_triangle(const Tensor& x, Side side, std::int64_t k, const char* op) {
  check_defined(x, op);
  if (x.ndim() < 2) fail<ValueError>("[", op, "] needs at least two axes, got shape ", x.shape());
  if (x.device().is_cpu() || x.device().is_meta()) return TriangleFn::apply(x, side, k);
  const Tensor numbers = diagonals(x.size(-2), x.size(-1), x.device());
  // A zero of dtype bool, because 0 would promote bools.
  const Operand zero = x.dtype() == DType::Bool ? Operand(Scalar(false)) : Operand(Scalar(0));
  return where(side == Side::Lower ? less_equal(numbers, k) : greater_equal(numbers, k), x, zero);
}

void triangle_into(const Tensor& x, Side side, std::int64_t k, const char* op) {
  const bool direct = x.ndim() >= 2 && (x.device().is_cpu() || x.device().is_meta());
  if (!direct) return write_values(x, checked_triangle(x, side, k, op), op);
  clear_rest(x, side, k);
}

}  // namespace

Tensor Tril::call(const Tensor& x, DiagonalNumber k) { return checked_triangle(x, Side::Lower, k.value, info.name); }
Tensor Triu::call(const Tensor& x, DiagonalNumber k) { return checked_triangle(x, Side::Upper, k.value, info.name); }
void Tril::into(const Tensor& x, DiagonalNumber k) { triangle_into(x, Side::Lower, k.value, info.name); }
void Triu::into(const Tensor& x, DiagonalNumber k) { triangle_into(x, Side::Upper, k.value, info.name); }

}  // namespace lamella
