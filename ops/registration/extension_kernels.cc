// The kernels that the engine requires of every device, for devices of extensions: copies, fills, reductions, products.

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/core/host.h"
#include "engine/runtime/device_backend.h"
#include "ops/extension/call_kernel.h"
#include "ops/extension/extension.h"
#include "ops/linalg/matmul.h"
#include "ops/nn/softmax.h"
#include "ops/random/fill.h"
#include "ops/reduce/reduce.h"
#include "ops/registration/extension_elementwise.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using cpu::Reduction;
using registry::Arg;

void send(const Tensor& to, const Tensor& from) {
  const HostRelease release(to.numel());
  device_backend(to.device())
      .copy_from_host(to.device().index, to.raw_data(), from.raw_data(), to.nbytes(), backend_stream(to.device()));
}

void fetch_bytes(void* to, const void* from, std::size_t bytes, Device device) {
  const HostRelease release(INT64_MAX);
  device_backend(device).copy_to_host(device.index, to, from, bytes, backend_stream(device));
}

/// Returns true if the device's backend copied the values by itself.
bool copied_there(const Tensor& to, const Tensor& from) {
  const Device device = to.device();
  DeviceBackend& backend = device_backend(device);
  void* const stream = backend_stream(device);
  if (to.dtype() == from.dtype() && to.is_contiguous() && from.is_contiguous()) {
    backend.copy_on_device(device.index, to.raw_data(), from.raw_data(), to.nbytes(), stream);
    return true;
  }
  return backend.copy_strided(to, from, stream);
}

/// Returns the values of x on the host, in memory that may have the layout of x.
Tensor fetched(const Tensor& x) {
  if (x.is_contiguous()) {
    Tensor host = empty(x.shape(), x.dtype());
    fetch_bytes(host.raw_data(), x.raw_data(), x.nbytes(), x.device());
    return host;
  }
  if (const Tensor landing = empty(x.shape(), x.dtype(), x.device()); copied_there(landing, x)) return fetched(landing);
  // The strided extent: all bytes from the first to the last element.
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < x.ndim(); ++i) (x.strides()[i] < 0 ? low : high) += (x.shape()[i] - 1) * x.strides()[i];
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const Tensor span = empty({high - low + 1}, x.dtype());
  fetch_bytes(span.raw_data(), x->data + low * item, span.nbytes(), x.device());
  return make_view(span, x.shape(), x.strides(), -low);
}

/// Writes `from`, contiguous on the host, into a strided tensor, one contiguous run at a time, so that the bytes
/// between runs stay as they are.
void send_runs(const Tensor& to, const Tensor& from) {
  const auto item = static_cast<std::int64_t>(item_size(to.dtype()));
  std::size_t outer = to.ndim();
  std::int64_t run = 1;
  while (outer > 0 && (to.shape()[outer - 1] == 1 || to.strides()[outer - 1] == run)) run *= to.shape()[--outer];
  const HostRelease release(to.numel());
  DeviceBackend& backend = device_backend(to.device());
  void* const stream = backend_stream(to.device());
  Dims at(outer, 0);
  for (std::int64_t first = 0; first < to.numel(); first += run) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < outer; ++i) offset += at[i] * to.strides()[i];
    backend.copy_from_host(to.device().index, to->data + offset * item, from->data + first * item,
                           static_cast<std::size_t>(run * item), stream);
    for (std::size_t i = outer; i-- > 0;) {
      if (++at[i] != to.shape()[i]) break;
      at[i] = 0;
    }
  }
}

/// Returns x as a contiguous tensor of `dtype` on its own device.
Tensor prepared(const Tensor& x, DType dtype) {
  if (x.is_contiguous() && x.dtype() == dtype) return x;
  Tensor result = empty(x.shape(), dtype, x.device());
  write_values(result, x, "copy");
  return result;
}

void send_anywhere(const Tensor& to, const Tensor& from) {
  const Tensor source = prepared(from, to.dtype());
  if (to.is_contiguous()) return send(to, source);
  if (const Tensor probe = empty(to.shape(), to.dtype(), to.device()); true) {
    send(probe, source);
    if (device_backend(to.device()).copy_strided(to, probe, backend_stream(to.device()))) return;
  }
  send_runs(to, source);
}

void copy_between(const Tensor& to, const Tensor& from) {
  if (to.dtype() == from.dtype() && to.is_contiguous() && from.is_contiguous()) {
    const HostRelease release(INT64_MAX);
    DeviceBackend& backend = device_backend(to.device());
    if (backend.copy_between_devices(to.device().index, to.raw_data(), from.device().index, from.raw_data(),
                                     to.nbytes())) {
      return;
    }
  }
  send_anywhere(to, fetched(from));
}

void copy(const Tensor& to, const Tensor& from) {
  if (!is_extension(to.device())) {
    // Copies to the host, or through it to another kind of device.
    write_values(to, fetched(from), "copy");
  } else if (!is_extension(from.device())) {
    send_anywhere(to, moved(from, kCPU));
  } else if (to.device() != from.device()) {
    copy_between(to, from);
  } else if (!copied_there(to, from)) {
    send_anywhere(to, fetched(from));
  }
}

void fill(const Tensor& to, const void* value) {
  if (device_backend(to.device()).fill(to, value, backend_stream(to.device()))) return;
  const Tensor number = empty({}, to.dtype());
  std::memcpy(number.raw_data(), value, item_size(to.dtype()));
  const Tensor host = empty(to.shape(), to.dtype());
  write_values(host, make_view(number, to.shape(), Dims(to.ndim(), 0)), "fill");
  send_anywhere(to, host);
}

/// Returns x as a matrix whose rows a reduction kernel reduces.
Tensor as_rows(const Tensor& x, const Dims& axes) {
  Dims order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i);
  }
  std::int64_t rows = 1;
  for (const std::int64_t i : order) rows *= x.shape()[static_cast<std::size_t>(i)];
  for (const std::int64_t i : axes) order.push_back(i);
  return reshape(prepared(permute_dims(x, order), x.dtype()), Dims{rows, x.numel() / rows});
}

void reduce_there(Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out, const char*) {
  const autograd::NoGrad scope;
  const char* const op = cpu::name_of(reduction);  // the name under which the extension registers its kernel
  const Tensor rows = as_rows(x, axes);
  const std::array<std::int64_t, 1> last{1};
  const bool one_axis = reduction == Reduction::ArgMax || reduction == Reduction::ArgMin;
  const std::array<Arg, 3> args{rows, one_axis ? Arg(last[0]) : Arg(std::span<const std::int64_t>(last)), false};
  if (const auto y = extension::call_kernel(op, args, Dims{rows.shape()[0]}, out.dtype(), out.device())) {
    return write_values(out, reshape(*y, out.shape()), "reduce");
  }
  require_fallback(op, out.device());
  const Tensor host = fetched(rows);
  write_values(out, reshape(reduce(reduction, host, Dims{1}, false, op, out.dtype()), out.shape()), "reduce");
}

/// Returns a factor, contiguous and broadcast to the leading axes of the product.
Tensor factor(const Tensor& x, const Tensor& out) {
  Dims shape = out.shape();
  shape[shape.size() - 2] = x.size(-2);
  shape[shape.size() - 1] = x.size(-1);
  return prepared(x.shape() == shape ? x : broadcast_to(x, shape), x.dtype());
}

bool multiply_there(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& out, const char*) {
  const autograd::NoGrad scope;
  const std::array<Tensor, 2> factors{factor(a, out), factor(b, out)};
  const std::array<Arg, 2> args{factors[0], factors[1]};
  if (const auto y = extension::call_kernel("matmul", args, out.shape(), out.dtype(), out.device())) {
    write_values(out, *y, "matmul");
    return false;
  }
  require_fallback("matmul", out.device());
  write_values(out, matmul(fetched(factors[0]), fetched(factors[1])), "matmul");
  return false;
}

/// Returns one of the CPU's kernels.
template <auto kMember>
auto kernel_of_host(std::string_view op) {
  return device_kernel<kMember>(kCPU, op);
}

Tensor softmax_there(const Tensor& x, std::size_t axis, bool log) {
  const char* const op = softmax_name(log);
  const std::array<Arg, 2> args{x, std::int64_t{-1}};
  if (auto y = extension::call_kernel(op, args, x.shape(), x.dtype(), x.device())) return *y;
  const auto run = [&](const Tensor& host) { return kernel_of_host<&DeviceKernels::softmax>(op)(host, axis, log); };
  return on_host(op, x.device(), run, x);
}

Tensor softmax_gradient_there(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) {
  const char* const op = softmax_name(log);
  const auto run = [&](const Tensor& a, const Tensor& b) {
    return kernel_of_host<&DeviceKernels::softmax_gradient>(op)(a, b, axis, log);
  };
  return on_host(op, y.device(), run, y, dy);
}

Tensor gather_rows_there(const Tensor& matrix, const Tensor& rows) {
  return on_host("index", matrix.device(), kernel_of_host<&DeviceKernels::gather_rows>("index"), matrix, rows);
}

Tensor scatter_rows_there(const Tensor& matrix, const Tensor& rows, std::int64_t count) {
  const auto run = [&](const Tensor& a, const Tensor& b) {
    return kernel_of_host<&DeviceKernels::scatter_rows>("index")(a, b, count);
  };
  return on_host("index", matrix.device(), run, matrix, rows);
}

void random_there(const random::Fill& fill, const Tensor& out) {
  const Tensor host = empty(out.shape(), out.dtype());
  kernel_of_host<&DeviceKernels::random>("random")(fill, host);
  write_values(out, host, "random");
}

template <auto kMember, class Kernel>
bool add(Kernel kernel) {
  return register_kernel<kMember>(DeviceType::PrivateUse1, kernel);
}

[[maybe_unused]] const bool kRegistered =
    add<&DeviceKernels::copy>(copy) && add<&DeviceKernels::fill>(fill) &&
    add<&DeviceKernels::elementwise>(extension::launch) && add<&DeviceKernels::reduce>(reduce_there) &&
    add<&DeviceKernels::matmul>(multiply_there) && add<&DeviceKernels::softmax>(softmax_there) &&
    add<&DeviceKernels::softmax_gradient>(softmax_gradient_there) &&
    add<&DeviceKernels::gather_rows>(gather_rows_there) && add<&DeviceKernels::scatter_rows>(scatter_rows_there) &&
    add<&DeviceKernels::random>(random_there);

}  // namespace
}  // namespace lamella
