#include "ops/creation/creation.h"

#include "engine/core/default_device.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/promotion.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

Tensor filled(DimsView shape, Scalar value, DType dtype, Device device, const char* op) {
  Tensor out = empty(shape, dtype, device);
  write_value(out, value, op);
  return out;
}

/// Returns a tensor of `value` shaped like x; batched if x is, so that each example can be written.
Tensor filled_like(const Tensor& x, Scalar value, std::optional<DType> dtype, std::optional<Device> device,
                   const char* op) {
  check_defined(x, op);
  Tensor out = empty_beside(x, x.shape(), dtype.value_or(x.dtype()), device.value_or(x.device()));
  write_value(out, value, op);
  return out;
}

}  // namespace

Tensor Zeros::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, 0, dtype.value_or(kDefaultFloat), device.value_or(default_device()), info.name);
}
Tensor Ones::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, 1, dtype.value_or(kDefaultFloat), device.value_or(default_device()), info.name);
}
Tensor Full::call(const Dims& shape, Scalar fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  return filled(shape, fill_value, dtype.value_or(default_dtype(fill_value.kind())), device.value_or(default_device()),
                info.name);
}
Tensor Empty::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device) {
  return empty(shape, dtype.value_or(kDefaultFloat), device.value_or(default_device()));
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

}  // namespace lamella
