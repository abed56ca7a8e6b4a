#include "ops/linalg/products.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/cross.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/solve.h"
#include "ops/movement/cast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

void check_operands(const Tensor& x1, const Tensor& x2, const char* op, DTypeSet dtypes = Numeric) {
  check_defined(x1, op);
  check_defined(x2, op);
  check_dtype(x1, dtypes, op);
  check_dtype(x2, dtypes, op);
  check_same_device(x1, x2, op);
}

void check_vectors(const Tensor& x1, const Tensor& x2, const char* op) {
  if (x1.ndim() == 1 && x2.ndim() == 1) return;
  fail<ValueError>("[", op, "] needs two vectors, with one axis each (x1: ", x1.shape(), ", x2: ", x2.shape(), ")");
}

/// Returns `axis` counted from the end, for the larger number of axes; both tensors must have it.
std::int64_t common_axis(const Tensor& x1, const Tensor& x2, std::int64_t axis, const char* op) {
  const auto ndim = static_cast<std::int64_t>(std::max(x1.ndim(), x2.ndim()));
  const std::int64_t from_end = normalize_axis(axis, static_cast<std::size_t>(ndim), op) - ndim;
  for (const Tensor* x : {&x1, &x2}) normalize_axis(from_end, x->ndim(), op);
  return from_end;
}

Tensor with_axis_last(const Tensor& x, std::int64_t axis) {
  if (axis == -1) return x;
  Dims order;
  const std::int64_t moved = static_cast<std::int64_t>(x.ndim()) + axis;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (i != moved) order.push_back(i);
  }
  order.push_back(moved);
  return permute_dims(x, order);
}

void append(Dims& to, const Dims& more) {
  for (const std::int64_t value : more) to.push_back(value);
}

/// A tensor as a matrix, with the axes in `axes` merged behind the others (or in front of them), and the sizes of the
/// others.
struct Parted {
  Tensor matrix;
  Dims others;
};

Parted part(const Tensor& x, const Dims& axes, bool behind) {
  Dims order;
  Parted result;
  std::int64_t count = 1;
  std::int64_t inner = 1;
  for (const std::int64_t axis : axes) inner *= x.shape()[static_cast<std::size_t>(axis)];
  if (!behind) order = axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (std::ranges::find(axes, i) != axes.end()) continue;
    order.push_back(i);
    result.others.push_back(x.shape()[static_cast<std::size_t>(i)]);
    count *= result.others.back();
  }
  if (behind) append(order, axes);
  result.matrix = reshape(permute_dims(x, order), behind ? Dims{count, inner} : Dims{inner, count});
  return result;
}

}  // namespace

Tensor Vecdot::call(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
  check_operands(x1, x2, info.name);
  const std::int64_t from_end = common_axis(x1, x2, axis, info.name);
  if (x1.size(from_end) != x2.size(from_end)) {
    fail<ValueError>("[vecdot] axis ", axis, " must have the same length in x1 and x2 (x1: ", x1.shape(),
                     ", x2: ", x2.shape(), ")");
  }
  const Tensor row = expand_dims(with_axis_last(linalg::conjugate(x1), from_end), -2);
  const Tensor column = expand_dims(with_axis_last(x2, from_end), -1);
  const Tensor product = matmul(row, column);
  return reshape(product, Dims(product.shape().begin(), product.shape().end() - 2));
}

Tensor Dot::call(const Tensor& x1, const Tensor& x2) {
  check_operands(x1, x2, info.name);
  check_vectors(x1, x2, info.name);
  if (x1.numel() != x2.numel()) {
    fail<ValueError>("[dot] the vectors must have the same number of elements, got ", x1.numel(), " and ", x2.numel());
  }
  return matmul(x1, x2);
}

Tensor Outer::call(const Tensor& x1, const Tensor& x2) {
  check_operands(x1, x2, info.name, info.dtypes);
  check_vectors(x1, x2, info.name);
  return multiply(expand_dims(x1, 1), x2);
}

Tensor Kron::call(const Tensor& x1, const Tensor& x2) {
  check_operands(x1, x2, info.name, info.dtypes);
  const std::size_t ndim = std::max(x1.ndim(), x2.ndim());
  // Each axis of x1 is followed by one of size 1, each axis of x2 preceded by one.
  Dims shape1;
  Dims shape2;
  Dims shape;
  for (std::size_t i = 0; i < ndim; ++i) {
    const auto size_of = [&](const Tensor& x) {
      const std::size_t missing = ndim - x.ndim();
      return i < missing ? 1 : x.shape()[i - missing];
    };
    shape1.push_back(size_of(x1));
    shape1.push_back(1);
    shape2.push_back(1);
    shape2.push_back(size_of(x2));
    shape.push_back(size_of(x1) * size_of(x2));
  }
  return reshape(multiply(reshape(x1, shape1), reshape(x2, shape2)), shape);
}

Tensor Cross::call(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
  check_operands(x1, x2, info.name);
  const std::int64_t from_end = common_axis(x1, x2, axis, info.name);
  if (x1.size(from_end) != 3 || x2.size(from_end) != 3) {
    fail<ValueError>("[cross] needs vectors of 3 elements along axis ", axis, " (x1: ", x1.shape(),
                     ", x2: ", x2.shape(), ")");
  }
  if (x1.device().is_cpu()) return cross_on_cpu(x1, x2, from_end);
  // Elements 1, 2, 0 of x1 times elements 2, 0, 1 of x2, minus the opposite.
  return subtract(multiply(roll(x1, -1, from_end), roll(x2, -2, from_end)),
                  multiply(roll(x1, -2, from_end), roll(x2, -1, from_end)));
}

Tensor Tensordot::call(const Tensor& x1, const Tensor& x2, const Dims& axes1, const Dims& axes2) {
  check_operands(x1, x2, info.name);
  if (axes1.size() != axes2.size()) {
    fail<ValueError>("[tensordot] axes must list as many axes of x1 as of x2, got ", axes1.size(), " and ",
                     axes2.size());
  }
  const auto read = [](const Tensor& x, const Dims& axes) {
    normalize_axes(axes, x.ndim(), info.name);
    Dims result = axes;
    for (std::int64_t& axis : result) axis = normalize_axis(axis, x.ndim(), info.name);
    return result;
  };
  const Dims first = read(x1, axes1);
  const Dims second = read(x2, axes2);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (x1.size(first[i]) == x2.size(second[i])) continue;
    fail<ValueError>("[tensordot] axis ", axes1[i], " of x1 and axis ", axes2[i],
                     " of x2 have different lengths (x1: ", x1.shape(), ", x2: ", x2.shape(), ")");
  }
  const Parted left = part(x1, first, true);
  const Parted right = part(x2, second, false);
  Dims shape = left.others;
  append(shape, right.others);
  return reshape(matmul(left.matrix, right.matrix), shape);
}

Tensor LinalgMatrixPower::call(const Tensor& x, std::int64_t n) {
  check_defined(x, info.name);
  check_dtype(x, Numeric, info.name);
  if (x.ndim() < 2 || x.size(-1) != x.size(-2)) {
    fail<ValueError>("[linalg_matrix_power] needs square matrices, got shape ", x.shape());
  }
  if (n == 0) {
    const Tensor unit = eye(x.size(-1), std::nullopt, 0, x.dtype(), x.device());
    return add(multiply(x, 0), unit);
  }
  Tensor base = n < 0 ? linalg::inv(x) : x;
  Tensor result;
  // Unsigned, because the smallest integer has no negation.
  for (std::uint64_t left = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); left > 0;) {
    if (left & 1) result = result.defined() ? matmul(result, base) : base;
    left >>= 1;
    if (left > 0) base = matmul(base, base);
  }
  return n == 1 ? clone(x) : result;
}

}  // namespace lamella
