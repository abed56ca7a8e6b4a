#include "ops/creation/creation.h"

#include <cmath>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/movement/strided.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

Tensor filled(DimsView shape, Scalar value, DType dtype, Device device, const char* op) {
  Tensor out = empty(shape, dtype, device);
  write_value(out, value, op);
  return out;
}

/// The same for a tensor like x, which is batched where x is: there is a value for each example to be written.
Tensor filled_like(const Tensor& x, Scalar value, std::optional<DType> dtype, std::optional<Device> device,
                   const char* op) {
  check_defined(x, op);
  Tensor out = empty_beside(x, x.shape(), dtype.value_or(x.dtype()), device.value_or(x.device()));
  write_value(out, value, op);
  return out;
}

/// Moves values that were computed on the CPU, in `from`'s dtype, to where and what is asked for.
Tensor delivered(const Tensor& from, DType dtype, Device device) { return to_device(cast(from, dtype), device); }

/// The number of steps from start to stop; ValueError where that is no number that fits.
std::int64_t count_steps(double start, double stop, double step) {
  const double steps = std::ceil((stop - start) / step);
  if (!(steps < 0x1p62)) fail<ValueError>("[arange] cannot count from ", start, " to ", stop, " by ", step);
  return steps > 0 ? static_cast<std::int64_t>(steps) : 0;
}

std::int64_t count_steps(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                 : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return static_cast<std::int64_t>((distance - 1) / stride + 1);
}

/// The number of the diagonal that each element of a matrix lies on: its column minus its row.
Tensor diagonals(std::int64_t rows, std::int64_t columns, Device device) {
  const Tensor row = arange(rows, std::nullopt, 1, DType::Int64, device);
  const Tensor column = arange(columns, std::nullopt, 1, DType::Int64, device);
  return subtract(column, expand_dims(row, 1));
}

}  // namespace

Tensor Zeros::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, 0, dtype.value_or(kDefaultFloat), device.value_or(kCPU), info.name);
}
Tensor Ones::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, 1, dtype.value_or(kDefaultFloat), device.value_or(kCPU), info.name);
}
Tensor Full::call(const Dims& shape, Scalar fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, fill_value, dtype.value_or(default_dtype(fill_value.kind())), device.value_or(kCPU), info.name);
}
Tensor Empty::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return empty(shape, dtype.value_or(kDefaultFloat), device.value_or(kCPU));
}
Tensor ZerosLike::call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  return filled_like(x, 0, dtype, device, info.name);
}
Tensor OnesLike::call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  return filled_like(x, 1, dtype, device, info.name);
}
Tensor FullLike::call(const Tensor& x, Scalar fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  return filled_like(x, fill_value, dtype, device, info.name);
}
Tensor EmptyLike::call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device) {
  check_defined(x, info.name);
  return empty_beside(x, x.shape(), dtype.value_or(x.dtype()), device.value_or(x.device()));
}

Tensor Arange::call(Scalar start, std::optional<Scalar> stop, Scalar step, std::optional<DType> dtype,
                    std::optional<Device> device) {
  const Scalar first = stop ? start : Scalar(0);
  const Scalar last = stop ? *stop : start;
  const auto is_float = [](Scalar s) { return s.kind() == Scalar::Kind::Float; };
  const bool floating = is_float(first) || is_float(last) || is_float(step);
  if (step.to<double>() == 0) fail<ValueError>("[arange] step must not be 0");
  const DType result = dtype.value_or(floating ? kDefaultFloat : DType::Int64);
  const Device place = device.value_or(kCPU);
  const std::int64_t n = floating
                             ? count_steps(first.to<double>(), last.to<double>(), step.to<double>())
                             : count_steps(first.to<std::int64_t>(), last.to<std::int64_t>(), step.to<std::int64_t>());
  if (place.is_meta()) return empty({n}, result, place);
  // Each value is computed on its own: a running sum would gather errors.
  Tensor out = empty({n}, floating ? DType::Float64 : DType::Int64);
  if (floating) {
    double* data = out.data<double>();
    for (std::int64_t i = 0; i < n; ++i) data[i] = first.to<double>() + static_cast<double>(i) * step.to<double>();
  } else {
    std::int64_t* data = out.data<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i) data[i] = first.to<std::int64_t>() + i * step.to<std::int64_t>();
  }
  return delivered(out, result, place);
}

Tensor Linspace::call(double start, double stop, std::int64_t num, std::optional<DType> dtype,
                      std::optional<Device> device, bool endpoint) {
  if (num < 0) fail<ValueError>("[linspace] num must not be negative, got ", num);
  const Device place = device.value_or(kCPU);
  if (place.is_meta()) return empty({num}, dtype.value_or(kDefaultFloat), place);
  Tensor out = empty({num}, DType::Float64);
  double* data = out.data<double>();
  const double intervals = static_cast<double>(endpoint ? num - 1 : num);
  for (std::int64_t i = 0; i < num; ++i) {
    data[i] = i == 0 ? start : start + (stop - start) * (static_cast<double>(i) / intervals);
  }
  if (endpoint && num > 1) data[num - 1] = stop;
  return delivered(out, dtype.value_or(kDefaultFloat), place);
}

Tensor Eye::call(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k, std::optional<DType> dtype,
                 std::optional<Device> device) {
  const std::int64_t columns = n_cols.value_or(n_rows);
  if (n_rows < 0 || columns < 0) fail<ValueError>("[eye] sizes must not be negative, got ", n_rows, " and ", columns);
  return cast(equal(diagonals(n_rows, columns, device.value_or(kCPU)), k), dtype.value_or(kDefaultFloat));
}

Tensor Tril::call(const Tensor& x, std::int64_t k) {
  check_defined(x, info.name);
  if (x.ndim() < 2) fail<ValueError>("[tril] needs at least two axes, got shape ", x.shape());
  return where(less_equal(diagonals(x.size(-2), x.size(-1), x.device()), k), x, 0);
}

Tensor Triu::call(const Tensor& x, std::int64_t k) {
  check_defined(x, info.name);
  if (x.ndim() < 2) fail<ValueError>("[triu] needs at least two axes, got shape ", x.shape());
  return where(greater_equal(diagonals(x.size(-2), x.size(-1), x.device()), k), x, 0);
}

}  // namespace lamella
