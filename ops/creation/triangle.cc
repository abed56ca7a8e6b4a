// Matrices described by their diagonals.

#include <algorithm>
#include <cstring>

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/strided.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time

enum class Side : std::uint8_t { Lower, Upper };

/// The number of the diagonal that each element of a matrix lies on: its column minus its row.
Tensor diagonals(std::int64_t rows, std::int64_t columns, Device device) {
  const Tensor row = arange(rows, std::nullopt, 1, DType::Int64, device);
  const Tensor column = arange(columns, std::nullopt, 1, DType::Int64, device);
  return subtract(column, expand_dims(row, 1));
}

/// The columns [first, last) of a row that lie in the triangle.
struct Kept {
  std::int64_t first;
  std::int64_t last;
};
Kept kept_columns(Side side, std::int64_t row, std::int64_t columns, std::int64_t k) {
  // Beyond the matrix, all diagonals are alike.
  const std::int64_t diagonal = std::clamp(k, -row - 1, columns);
  if (side == Side::Lower) return {0, std::clamp<std::int64_t>(row + diagonal + 1, 0, columns)};
  return {std::clamp<std::int64_t>(row + diagonal, 0, columns), columns};
}

/// Copies a row's kept part, element by element of `size` bytes, and clears the rest.
void write_row(char* to, const char* from, std::int64_t step, std::int64_t columns, Kept kept, std::size_t size) {
  const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * size; };
  std::memset(to, 0, bytes(kept.first));
  std::memset(to + bytes(kept.last), 0, bytes(columns - kept.last));
  if (step == static_cast<std::int64_t>(size)) {
    std::memcpy(to + bytes(kept.first), from + bytes(kept.first), bytes(kept.last - kept.first));
    return;
  }
  for (std::int64_t j = kept.first; j < kept.last; ++j) std::memcpy(to + bytes(j), from + j * step, size);
}

/// A triangle of the matrices in the last two axes of x.
Tensor triangle(const Tensor& x, Side side, std::int64_t k) {
  if (is_batched(x)) [[unlikely]] {
    const HiddenAxes axes = *x->hidden;
    return hide_in_place(triangle(physical(x, axes), side, k), axes);
  }
  const Tensor out = empty(x.shape(), x.dtype(), x.device());
  if (out.device().is_meta() || out.numel() == 0) return out;
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = x.size(-1);
  const std::size_t size = item_size(x.dtype());
  const auto item = static_cast<std::int64_t>(size);
  const Dims lead(x.shape().begin(), x.shape().end() - 1);
  const HostRelease release(x.numel());
  parallel_for(0, x.numel() / columns, std::max<std::int64_t>(1, kGrain / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   std::int64_t offset = 0;
                   std::int64_t rest = r;
                   for (std::size_t axis = lead.size(); axis-- > 0;) {
                     offset += rest % lead[axis] * x.strides()[axis];
                     rest /= lead[axis];
                   }
                   write_row(out->data + r * columns * item, x->data + offset * item, x.strides().back() * item,
                             columns, kept_columns(side, r % rows, columns, k), size);
                 }
               });
  return out;
}

struct TriangleFn : Function<TriangleFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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
  return where(side == Side::Lower ? less_equal(numbers, k) : greater_equal(numbers, k), x, 0);
}

}  // namespace

Tensor Eye::call(std::int64_t n_rows, std::optional<std::int64_t> n_cols, DiagonalNumber k, std::optional<DType> dtype,
                 std::optional<Device> device) {
  const std::int64_t columns = n_cols.value_or(n_rows);
  if (n_rows < 0 || columns < 0) fail<ValueError>("[eye] sizes must not be negative, got ", n_rows, " and ", columns);
  const Tensor out = zeros({n_rows, columns}, dtype, device);
  const std::int64_t diagonal = std::clamp(k.value, -n_rows, columns);
  const std::int64_t row = std::max<std::int64_t>(0, -diagonal);
  const std::int64_t column = std::max<std::int64_t>(0, diagonal);
  const std::int64_t length = std::min(n_rows - row, columns - column);
  if (length > 0) write_value(make_view(out, Dims{length}, Dims{columns + 1}, row * columns + column), 1, info.name);
  return out;
}

Tensor Tril::call(const Tensor& x, DiagonalNumber k) { return checked_triangle(x, Side::Lower, k.value, info.name); }
Tensor Triu::call(const Tensor& x, DiagonalNumber k) { return checked_triangle(x, Side::Upper, k.value, info.name); }

}  // namespace lamella
