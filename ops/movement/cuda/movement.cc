#include "ops/movement/cuda/movement.h"

#include <algorithm>
#include <limits>

#include "engine/core/host.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/pinned.h"
#include "engine/runtime/sync_debug.h"
#include "ops/movement/cuda/kernels.h"
#include "ops/support/strided.h"

namespace lamella::cuda {
namespace {

/// Waits for the current stream; other host threads may run meanwhile.
void wait(Device device) {
  const HostRelease release(std::numeric_limits<std::int64_t>::max());
  check(cudaStreamSynchronize(current_stream(device)), "copy");
  raise_late_error(device);
}

/// Queues the copy of a contiguous tensor's bytes to or from a contiguous tensor of the same dtype.
void copy_bytes(const Tensor& to, const Tensor& from, cudaMemcpyKind kind, Device device) {
  check(cudaMemcpyAsync(to.raw_data(), from.raw_data(), to.nbytes(), kind, current_stream(device)), "copy");
}

void copy_on_device(const Tensor& to, const Tensor& from) {
  const DeviceGuard guard(to.device());
  if (to.dtype() == from.dtype() && to.is_contiguous() && from.is_contiguous()) {
    copy_bytes(to, from, cudaMemcpyDeviceToDevice, to.device());
    return;
  }
  const Tensor* const operands[] = {&from};
  const StridedLoop loop = make_strided_loop(operands, to);
  const cudaStream_t stream = current_stream(to.device());
  if (to.dtype() == from.dtype()) {
    launch_copy(loop, static_cast<int>(item_size(to.dtype())), stream);
  } else {
    launch_cast(loop, to.dtype(), from.dtype(), stream);
  }
}

/// Returns `from` as a contiguous tensor of `dtype` on its own device.
Tensor prepared(const Tensor& from, DType dtype) {
  if (from.is_contiguous() && from.dtype() == dtype) return from;
  Tensor result = empty(from.shape(), dtype, from.device());
  write_values(result, from, "copy");
  return result;
}

/// Copies between a device and the host; both tensors are contiguous. A few bytes go to the device with the arguments
/// of a kernel, for which the host does not wait; not in a graph, which would repeat them, nor from pinned memory, into
/// which a copy may be under way.
void transfer_by_host(const Tensor& to, const Tensor& from, const Tensor& host, Device device, cudaMemcpyKind kind) {
  const DeviceGuard guard(device);
  if (kind == cudaMemcpyHostToDevice && to.nbytes() <= kMostWritten && !is_capturing() && !is_pinned(host)) {
    launch_write(to.raw_data(), from.raw_data(), to.nbytes(), current_stream(device));
    return;
  }
  const bool returns = NonBlockingCopies::on() && is_pinned(host);
  if (!returns) note_wait("copy");
  copy_bytes(to, from, kind, device);
  if (returns) {
    pinned_memory()->note_copy(host->storage->data, device);
  } else {
    wait(device);
  }
}

/// Copies between devices, one of which may be the host; both tensors are contiguous.
void transfer(const Tensor& to, const Tensor& from) {
  if (from.device().is_cpu()) {
    transfer_by_host(to, from, from, to.device(), cudaMemcpyHostToDevice);
  } else if (to.device().is_cpu()) {
    transfer_by_host(to, from, to, from.device(), cudaMemcpyDeviceToHost);
  } else {
    note_wait("copy");
    // Streams of two devices are not ordered, so the host waits in between.
    {
      const DeviceGuard guard(to.device());
      wait(to.device());
    }
    const DeviceGuard guard(from.device());
    check(cudaMemcpyPeerAsync(to.raw_data(), to.device().index, from.raw_data(), from.device().index, to.nbytes(),
                              current_stream(from.device())),
          "copy");
    wait(from.device());
  }
}

}  // namespace

void copy(const Tensor& to, const Tensor& from) {
  if (to.numel() == 0) return;
  if (to.device() == from.device()) {
    copy_on_device(to, from);
    return;
  }
  const Tensor source = prepared(from, to.dtype());
  if (to.is_contiguous()) {
    transfer(to, source);
    return;
  }
  const Tensor landing = empty(to.shape(), to.dtype(), to.device());
  transfer(landing, source);
  write_values(to, landing, "copy");
}

void fill(const Tensor& to, const void* value) {
  if (to.numel() == 0) return;
  const DeviceGuard guard(to.device());
  const cudaStream_t stream = current_stream(to.device());
  const auto* bytes = static_cast<const unsigned char*>(value);
  const std::size_t size = item_size(to.dtype());
  if (to.is_contiguous() && std::all_of(bytes, bytes + size, [&](unsigned char byte) { return byte == *bytes; })) {
    check(cudaMemsetAsync(to.raw_data(), *bytes, to.nbytes(), stream), "fill");
    return;
  }
  launch_fill(make_strided_loop({}, to), static_cast<int>(size), value, stream);
}

Tensor as_contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor result = empty(x.shape(), x.dtype(), x.device());
  copy_on_device(result, x);
  return result;
}

}  // namespace lamella::cuda
