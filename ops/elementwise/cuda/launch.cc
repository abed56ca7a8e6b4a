#include <cstring>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/elementwise/cuda/args.h"
#include "ops/elementwise/cuda/table.h"
#include "ops/elementwise/instances.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

const ElementwiseTable& elementwise_table() {
  static const ElementwiseTable* const table = [] {
    auto* filled = new ElementwiseTable;
    static_assert(ElementwiseOps::size <= ElementwiseTable::kMaxOps);
    for_each_instance<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                      std::uint32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>>(
        [&]<class T, class Ops>(int first) { fill_elementwise<T, Ops>(*filled, first); });
    return filled;
  }();
  return *table;
}

bool is_aligned(const char* pointer, int bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(bytes) == 0;
}

bool is_repeated(const StridedLoop& loop, int k) {
  for (int axis = 0; axis < loop.axes; ++axis) {
    if (loop.in_strides[k][axis] != 0) return false;
  }
  return true;
}

ElementwiseArgs make_args(const ElementwiseEntry& entry, const StridedLoop& loop) {
  ElementwiseArgs args;
  args.elements = static_cast<std::uint32_t>(loop.elements);
  args.out = loop.out;
  args.stored = entry.stored;
  args.by_value = loop.on_host;
  args.repeated = loop.on_host;
  args.packed = loop.axes == 1 && loop.out_strides[0] == 1 && is_aligned(loop.out, entry.lanes * entry.out_bytes);
  for (int k = 0; k < loop.operands; ++k) {
    args.in[k] = loop.in[k];
    if (loop.on_host >> k & 1) {
      std::memcpy(args.values[k], loop.in[k], static_cast<std::size_t>(entry.in_bytes[k]));
    } else if (is_repeated(loop, k)) {
      args.repeated |= 1u << k;
    } else {
      args.packed &= loop.in_strides[k][0] == 1 && is_aligned(loop.in[k], entry.lanes * entry.in_bytes[k]);
    }
  }
  args.index = make_index<1 + StridedLoop::kMaxOperands>(loop);
  return args;
}

void run(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out, DType dtype) {
  const StridedLoop loop = make_strided_loop(operands, out);
  const Device device = out.device();
  const auto column = static_cast<std::size_t>(dtype);
  const ElementwiseTable& table = elementwise_table();
  const ElementwiseEntry& entry = wrt < 0 ? table.forward[op.index][column] : table.backward[op.index][wrt][column];
  if (!entry.kernel) fail<NotImplementedError>("[", op.info->name, "] has no kernel for dtype ", dtype, " on ", device);
  const DeviceGuard guard(device);
  for_each_part(loop, entry.out_bytes, entry.in_bytes, [&](const StridedLoop& part) {
    const ElementwiseArgs args = make_args(entry, part);
    const std::uint32_t tile = kElementwiseThreads * static_cast<std::uint32_t>(entry.lanes);
    const dim3 blocks((args.elements + tile - 1) / tile);
    launch(op.info->name, entry.kernel, blocks, kElementwiseThreads, 0, current_stream(device), args);
  });
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::elementwise>(DeviceType::CUDA, run);

}  // namespace
}  // namespace lamella::cuda
