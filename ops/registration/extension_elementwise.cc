#include "ops/registration/extension_elementwise.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "engine/runtime/device_backend.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/list.h"
#include "ops/extension/call_kernel.h"
#include "ops/extension/extension.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/strided.h"

namespace lamella::extension {
namespace {

using registry::Arg;

/// Returns the operator's handle, looked up once per elementwise operator, because every step of a program calls
/// several.
OperatorHandle handle_of(const ElementwiseOp& op) {
  static std::array<std::atomic<registry::OperatorEntry*>, ElementwiseOps::size> known{};
  std::atomic<registry::OperatorEntry*>& entry = known[static_cast<std::size_t>(op.index)];
  if (registry::OperatorEntry* const found = entry.load(std::memory_order_acquire)) return OperatorHandle(found);
  const OperatorHandle handle = extension::handle_of(op.info->name);
  entry.store(handle.entry(), std::memory_order_release);
  return handle;
}

/// Returns x broadcast to `shape` as a contiguous tensor on the device.
Tensor laid_out(const Tensor& x, const Dims& shape, Device device) {
  if (x.device() == device && x.is_contiguous() && x.shape() == shape) return x;
  Tensor full = empty(shape, x.dtype(), device);
  write_values(full, x.shape() == shape ? x : broadcast_to(x, shape), "broadcast_to");
  return full;
}

/// True if x is the only owner of its memory: not a view, not shared, not batched.
bool is_sole(const Tensor& x) {
  return x->use_count() == 1 && x->storage->unique() && (x->flags & TensorImpl::kView) == 0 && !x->hidden &&
         x->data == x->storage->data && x.is_contiguous() && !x->storage->deleter && !x->storage->embedded;
}

/// Writes the values of `result` into `out`: by swapping their memory if it is not shared, else by a copy.
void settle(const Tensor& out, const Tensor& result, bool fresh) {
  if (!fresh || !is_sole(out) || !is_sole(result)) return write_values(out, result, "copy");
  std::swap(out->storage->data, result->storage->data);
  std::swap(out->storage->bytes, result->storage->bytes);
  std::swap(out->storage->context, result->storage->context);
  std::swap(out->data, result->data);
}

/// Runs the extension's kernel on operands broadcast to out's shape, or its own fallback on the operands as given.
/// Returns false if there is neither, or if it declines.
bool run_forward(const OperatorHandle& handle, std::span<const Tensor* const> operands, const Tensor& out, bool fresh) {
  if (handle.schema().arguments.size() != operands.size()) return false;
  const bool own = has_own_kernel(handle);
  std::array<Tensor, ElementwiseOp::kMaxInputs> tensors;
  std::array<Arg, ElementwiseOp::kMaxInputs> args;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    tensors[k] = own ? laid_out(*operands[k], out.shape(), out.device()) : *operands[k];
    args[k] = tensors[k];
  }
  const auto y = call_kernel(handle, std::span(args.data(), operands.size()), out.shape(), out.dtype(), out.device());
  if (y) settle(out, *y, fresh);
  return y.has_value();
}

/// Runs the gradient formula on tensors; the kernels for its parts compute it.
void run_formula(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> read, const Tensor& out) {
  const auto input = static_cast<std::size_t>(wrt);
  std::array<Tensor, StridedLoop::kMaxOperands> operands;
  std::size_t next = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (op.reads[input] >> k & 1) operands[k] = *read[next++];
  }
  const Tensor gradient = op.formulas[input](operands.data());
  write_values(out, gradient.shape() == out.shape() ? gradient : broadcast_to(gradient, out.shape()), op.info->name);
}

void run_on_host(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out) {
  std::array<Tensor, StridedLoop::kMaxOperands> host;
  std::array<const Tensor*, StridedLoop::kMaxOperands> list;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    host[k] = moved(*operands[k], kCPU);
    list[k] = &host[k];
  }
  const Tensor result = empty(out.shape(), out.dtype());
  // The kernel's dtype is that of the inputs; the first operand may be a mask.
  const Tensor& typed = *operands[op.mask_input && operands.size() > 1 ? 1 : 0];
  launch_elementwise(op, wrt, std::span(list.data(), operands.size()), result, typed.dtype());
  write_values(out, result, op.info->name);
}

}  // namespace

void launch(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out, DType) {
  const autograd::NoGrad scope;
  const BackendDeviceGuard guard(out.device());
  const OperatorHandle handle = handle_of(op);
  if (wrt < 0) {
    const bool fresh = std::ranges::none_of(operands, [&](const Tensor* x) { return x->same(out); });
    if (run_forward(handle, operands, out, fresh)) return;
  } else if (has_own_kernel(handle) || !fallback()) {
    return run_formula(op, wrt, operands, out);
  }
  require_fallback(op.info->name, out.device());
  run_on_host(op, wrt, operands, out);
}

}  // namespace lamella::extension
