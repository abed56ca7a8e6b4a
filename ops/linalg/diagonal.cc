#include "ops/linalg/diagonal.h"

#include <algorithm>

#include "ops/index/insert.h"
#include "ops/reduce/sum.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// The diagonal of one plane (two axes) of a tensor.
struct Plane {
  std::size_t row_axis = 0;
  std::size_t column_axis = 0;
  std::int64_t offset = 0;
  Dims shape;  ///< shape of the tensor

  /// Checks the operators' arguments and returns their Plane.
  static Plane read(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2, const char* op) {
    if (x.ndim() < 2) fail<ValueError>("[", op, "] needs at least two axes, got shape ", x.shape());
    Plane plane{.row_axis = static_cast<std::size_t>(normalize_axis(axis1, x.ndim(), op)),
                .column_axis = static_cast<std::size_t>(normalize_axis(axis2, x.ndim(), op)),
                .offset = 0,
                .shape = x.shape()};
    if (plane.row_axis == plane.column_axis)
      fail<ValueError>("[", op, "] axis1 and axis2 are both axis ", axis1, " of shape ", x.shape());
    // Clamped, so that arithmetic is safe: diagonals beyond the corners are all empty.
    plane.offset = std::clamp(offset, -x.shape()[plane.row_axis], x.shape()[plane.column_axis]);
    return plane;
  }
  /// Returns the diagonal of x, which has `shape`, as a view off the tape.
  Tensor of(const Tensor& x) const {
    const std::int64_t rows = shape[row_axis] - (offset < 0 ? -offset : 0);
    const std::int64_t columns = shape[column_axis] - (offset > 0 ? offset : 0);
    const std::int64_t length = std::max<std::int64_t>(0, std::min(rows, columns));
    const std::int64_t row = x.strides()[row_axis];
    const std::int64_t column = x.strides()[column_axis];
    Dims sizes;
    Dims strides;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == row_axis || i == column_axis) continue;
      sizes.push_back(shape[i]);
      strides.push_back(x.strides()[i]);
    }
    sizes.push_back(length);
    strides.push_back(row + column);
    const std::int64_t start = offset < 0 ? -offset * row : offset * column;
    return make_view(x, sizes, strides, length == 0 ? 0 : start);
  }
  /// Returns the diagonal of x as a recorded view.
  Tensor part(const Tensor& x) const;
};

/// The gradient of a diagonal.
struct PlaceDiagonalLayer : LinearOperatorLayer<PlaceDiagonalLayer> {
  static constexpr std::string_view name = "place_diagonal";

  static Tensor forward(Context& ctx, const Tensor& x, const Plane* plane) {
    if (ctx.recording()) ctx.state<Plane>() = *plane;
    const Tensor y = empty_beside(x, plane->shape, x.dtype(), x.device());
    write_value(y, 0, "diagonal");
    write_values(plane->of(y), x, "diagonal");
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy);
};

struct DiagonalLayer : LinearOperatorLayer<DiagonalLayer> {
  static constexpr std::string_view name = "diagonal";

  static Tensor forward(Context& ctx, const Tensor& x, const Plane* plane) {
    if (ctx.recording()) ctx.state<Plane>() = *plane;
    return plane->of(x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    return PlaceDiagonalLayer::apply(dy, &std::as_const(ctx.state<Plane>()));
  }
};

Tensor Plane::part(const Tensor& x) const { return DiagonalLayer::apply(x, this); }

Tensor PlaceDiagonalLayer::backward(Context& ctx, const Tensor& dy) {
  return DiagonalLayer::apply(dy, &std::as_const(ctx.state<Plane>()));
}

}  // namespace

Tensor on_diagonal(const Tensor& x, std::int64_t offset, const Dims& shape) {
  const Plane plane{.row_axis = shape.size() - 2, .column_axis = shape.size() - 1, .offset = offset, .shape = shape};
  return PlaceDiagonalLayer::apply(x, &plane);
}

Tensor insert_diagonal(const Tensor& x, const Tensor& values, std::int64_t offset, std::int64_t axis1,
                       std::int64_t axis2) {
  const Plane plane = Plane::read(x, offset, axis1, axis2, "diagonal_scatter");
  return InsertFn<Plane>::apply(x, values, &plane);
}

Tensor Diagonal::call(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  check_defined(x, info.name);
  const Plane plane = Plane::read(x, offset, axis1, axis2, info.name);
  return DiagonalLayer::apply(x, &plane);
}

Tensor Trace::call(const Tensor& x, std::int64_t offset, std::optional<DType> dtype) {
  check_defined(x, info.name);
  if (x.ndim() < 2) fail<ValueError>("[trace] needs at least two axes, got shape ", x.shape());
  return Sum::call(diagonal(x, offset), Dims{-1}, false, dtype);
}

}  // namespace lamella
