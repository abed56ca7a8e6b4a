#include <algorithm>
#include <cstdlib>

#include "engine/autograd/autocast/autocast.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/trace/departure.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/numbers.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/layer.h"
#include "ops/support/order.h"
#include "ops/support/promotion.h"

// The way from a call with operands to a kernel, and the single autograd layer that records every elementwise operator.

namespace lamella {
namespace {

/// True if autocast casts operands of this dtype to float32.
bool is_raised(std::span<const Operand* const> operands, DType dtype) {
  if (!autograd::autocast_active() || !is_floating(dtype) || item_size(dtype) != 2) return false;
  return std::ranges::any_of(operands, [](const Operand* operand) {
    return !operand->is_number() && autograd::is_autocast_enabled(operand->tensor().device().type);
  });
}

DType compute_dtype(const ElementwiseOp& op, std::span<const Operand* const> operands) {
  const DType dtype = promoted_dtype(operands.subspan(op.mask_input ? 1 : 0));
  if (op.info->autocast == Autocast::Float32 && is_raised(operands, dtype)) [[unlikely]]
    return DType::Float32;
  if (op.info->dtypes.contains(dtype)) return dtype;
  if (!is_differentiable(dtype) && op.info->dtypes.contains(kDefaultFloat) && (op.info->dtypes & Integral).empty())
    return kDefaultFloat;
  refuse_dtype(dtype, op.info->dtypes, op.info->name);
}

/// True if integers, some of them of 32 bits or more, become floating numbers.
bool are_wide_integers(const ElementwiseOp& op, std::span<const Operand* const> operands, DType dtype) {
  if (dtype != kDefaultFloat || !op.info->dtypes.contains(DType::Float64)) return false;
  bool wide = false;
  for (const Operand* operand : operands.subspan(op.mask_input ? 1 : 0)) {
    if (operand->is_number()) continue;
    if (is_differentiable(operand->tensor().dtype())) return false;
    wide |= is_wide_integer(operand->tensor().dtype());
  }
  return wide;
}

void check_devices(const ElementwiseOp& op, std::span<const Operand* const> operands) {
  const Tensor* decisive = nullptr;
  for (const Operand* operand : operands) {
    // A 0-d tensor on the CPU may be combined with tensors on any device, like a number.
    if (operand->is_number() || (operand->tensor().device().is_cpu() && operand->tensor().ndim() == 0)) continue;
    const Tensor& x = operand->tensor();
    if (!decisive) {
      decisive = &x;
    } else if (x.device() != decisive->device()) {
      fail<RuntimeError>("[", op.info->name, "] got tensors on ", decisive->device(), " and ", x.device(),
                         "; move one with to_device()");
    }
  }
}

unsigned saved_operands(const ElementwiseOp& op, const Node& node) {
  unsigned bits = 0;
  for (int i = 0; i < op.inputs; ++i) {
    if (node.edges()[static_cast<std::size_t>(i)]) bits |= op.reads[static_cast<std::size_t>(i)];
  }
  return bits & ~(1u << (op.inputs + 1));
}

Tensor compute(const ElementwiseOp& op, std::span<const Tensor* const> operands) {
  const Tensor& first = *operands[op.mask_input ? 1 : 0];
  const DType dtype = op.mask_output ? DType::Bool : op.real_output ? real_dtype(first.dtype()) : first.dtype();
  bool alike = true;
  bool contiguous = operands[0]->is_contiguous();
  Device device = operands[0]->device();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    alike &= operands[i]->shape() == operands[0]->shape();
    contiguous &= operands[i]->is_contiguous();
    if (!operands[i]->device().is_cpu()) device = operands[i]->device();
  }
  Tensor out;
  if (alike) {
    // Contiguous tensors have no hidden axes.
    out = contiguous ? empty(operands[0]->shape(), dtype, device)
                     : empty_in_order(operands, operands[0]->shape(), dtype, device);
  } else {
    Dims shape = operands[0]->shape();
    for (std::size_t i = 1; i < operands.size(); ++i)
      shape = broadcast_shapes(shape, operands[i]->shape(), op.info->name);
    out = empty_in_order(operands, shape, dtype, device);
  }
  launch_elementwise(op, -1, operands, out, first.dtype());
  return out;
}

/// The autograd layer of every elementwise operator. It saves the operands that the gradient formulas read.
struct Elementwise : OperatorLayer<Elementwise> {
  static std::string name_of(const Context& ctx) { return static_cast<const ElementwiseOp*>(ctx.tag)->info->name; }

  template <class... Inputs>
  static Tensor forward(Context& ctx, const ElementwiseOp* op, const Inputs&... inputs) {
    const std::array<const Tensor*, sizeof...(Inputs)> operands{&inputs...};
    Tensor out = compute(*op, operands);
    ctx.tag = op;
    const unsigned bits = saved_operands(*op, *ctx.node());
    SmallVector<Tensor, 4> saved;
    bool broadcast = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (bits >> i & 1) saved.push_back(*operands[i]);
      broadcast |= operands[i]->shape() != out.shape() || operands[i]->device() != out.device();
    }
    if (bits >> operands.size() & 1) saved.push_back(out);
    if (!saved.empty()) ctx.save_for_backward(std::span<const Tensor>(saved));
    if (broadcast) {
      for (const Tensor* x : operands) ctx.input_metas.emplace_back(*x);
    }
    return out;
  }

  static TensorList backward(Context& ctx, const Tensor& dy) {
    const ElementwiseOp& op = *static_cast<const ElementwiseOp*>(ctx.tag);
    const auto inputs = static_cast<std::size_t>(op.inputs);
    std::array<Tensor, StridedLoop::kMaxOperands> operands;
    if (const unsigned bits = saved_operands(op, *ctx.node())) {
      TensorList saved = ctx.saved_tensors();
      std::size_t next = 0;
      for (std::size_t i = 0; i <= inputs; ++i) {
        if (bits >> i & 1) operands[i] = std::move(saved[next++]);
      }
    }
    operands[inputs + 1] = dy;
    TensorList grads(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!op.reads[i] || !autograd::is_needed(ctx.node()->edges()[i])) continue;
      grads[i] = gradient(op, i, operands);
      if (ctx.input_metas.empty()) continue;
      if (grads[i].shape() != ctx.input_metas[i].shape)
        grads[i] = autograd::primitives().sum_to(grads[i], ctx.input_metas[i].shape);
      grads[i] = to_device(grads[i], ctx.input_metas[i].device);
    }
    return grads;
  }

  /// Computes the gradient of input i: with a fused kernel, if there is one and nothing differentiates the result, or
  /// with the formula on tensors. dy is the last operand that the formula may read.
  static Tensor gradient(const ElementwiseOp& op, std::size_t i,
                         const std::array<Tensor, StridedLoop::kMaxOperands>& operands) {
    if (autograd::is_grad_enabled() || !has_fused_backward(op, static_cast<int>(i)) || autograd::any_dual(operands))
      return op.formulas[i](operands.data());
    std::array<const Tensor*, StridedLoop::kMaxOperands> read;
    std::size_t count = 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (op.reads[i] >> k & 1) read[count++] = &operands[k];
    }
    const Tensor& dy = operands[static_cast<std::size_t>(op.inputs) + 1];
    const std::span operands_read(read.data(), count);
    // The gradient of a complex input with a real result is complex: the kernel's dtype is that of the input.
    const DType dtype = op.real_output ? operands[i].dtype() : dy.dtype();
    Tensor grad = empty_in_order(operands_read, dy.shape(), dtype, dy.device());
    launch_elementwise(op, static_cast<int>(i), operands_read, grad, dtype);
    return grad;
  }

  /// Computes the tangent of the result. The Jacobian is diagonal, so each input's tangent replaces the gradient in its
  /// formula.
  template <class... Inputs>
  static Tensor tangent(const ElementwiseOp& op, const Tensor& y, const TensorList& tangents, const Inputs&... inputs) {
    std::array<Tensor, StridedLoop::kMaxOperands> operands{inputs..., y};
    Tensor sum;
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      if (!tangents[i].defined() || !op.reads[i]) continue;
      const Tensor dx = broadcast_to(to_device(tangents[i], y.device()), y.shape());
      Tensor& dy = operands[sizeof...(Inputs) + 1];
      Tensor part;
      if (!is_complex(dx.dtype())) {
        dy = dx;
        part = gradient(op, i, operands);
      } else if (op.real_output) {
        dy = full_like(y, 1);
        part = real(conj(gradient(op, i, operands)) * dx);
      } else if (op.holomorphic) {
        dy = conj(dx);
        part = conj(gradient(op, i, operands));
      } else {
        dy = dx;
        part = gradient(op, i, operands);
      }
      sum = sum.defined() ? autograd::primitives().add(sum, part) : part;
    }
    return sum;
  }
};

static_assert(sizeof(autograd::detail::FunctionNode<Elementwise>) + sizeof(autograd::detail::NodeHeader) <= 512,
              "every recorded call writes and frees what a node holds");

/// An operand cast to the computation's dtype; owns the tensor only if it is a new one.
class Converted {
 public:
  Converted(const ElementwiseOp& op, const Operand& operand, std::size_t place, DType dtype, bool mask) {
    if (operand.is_number()) {
      own_ = mask ? number_tensor(operand.number(), DType::Bool) : number_operand(op, operand.number(), place, dtype);
      return;
    }
    const Tensor& x = operand.tensor();
    if (mask && x.dtype() != DType::Bool)
      fail<TypeError>("[", op.info->name, "] condition must be bool, got ", x.dtype());
    if (mask || x.dtype() == dtype) {
      given_ = &x;
    } else {
      own_ = astype(x, dtype, /*copy=*/false);
    }
  }
  const Tensor& tensor() const noexcept { return given_ ? *given_ : own_; }

 private:
  const Tensor* given_ = nullptr;
  Tensor own_;
};

bool is_recorded_by(const ElementwiseOp& op, std::span<const Tensor* const> operands) {
  return op.differentiable() && is_differentiable(operands[op.mask_input ? 1 : 0]->dtype());
}

/// Calls an operator. Operators without a gradient are not recorded: their results are constants even if an input is on
/// the tape.
template <class... Inputs>
Tensor apply(const ElementwiseOp& op, const Inputs&... inputs) {
  const std::array<const Tensor*, sizeof...(Inputs)> operands{&inputs...};
  const bool differentiable = is_recorded_by(op, operands);
  if (differentiable && autograd::should_record(operands)) return Elementwise::apply(&op, inputs...);
  Tensor out = compute(op, operands);
  if (differentiable) autograd::note_derived(operands, out);
  return out;
}

template <class... Inputs>
Tensor apply_intercepted(const ElementwiseOp& op, const Inputs&... inputs);

/// Calls an operator whose operands have tangents.
template <class... Inputs>
Tensor apply_dual(autograd::DualCall& duals, const ElementwiseOp& op, const Inputs&... inputs) {
  Tensor y = [&] {
    const autograd::HideLevels hide;
    return apply_intercepted(op, inputs...);
  }();
  Context* ctx = nullptr;
  if (const Ref<Node> node = y.grad_fn())
    ctx = &static_cast<autograd::detail::FunctionNode<Elementwise>*>(node.get())->ctx;
  Tensor* const outputs[] = {&y};
  duals.finish(nullptr, ctx, outputs, [&](const TensorList& tangents) {
    return TensorList{Elementwise::tangent(op, y, tangents, inputs...)};
  });
  return y;
}

/// Calls an operator while an interceptor sees every call.
template <class... Inputs>
[[gnu::noinline]] Tensor apply_intercepted(const ElementwiseOp& op, const Inputs&... inputs) {
  const std::array<const Tensor*, sizeof...(Inputs)> operands{&inputs...};
  if (op.info->autocast == Autocast::Float32 && autograd::autocast_active()) {
    const autograd::AutocastOff off;
    return apply_intercepted(op, autograd::raise_input(inputs)...);
  }
  if (autograd::modes().interceptors & autograd::Modes::kSelective) {
    return autograd::select_call<Tensor>(op.info->name, operands, [&] { return apply_intercepted(op, inputs...); });
  }
  if (autograd::duals_active() && is_recorded_by(op, operands)) {
    if (autograd::DualCall duals(operands); duals) return apply_dual(duals, op, inputs...);
  }
  Tensor out = apply(op, inputs...);
  if (autograd::is_tracing()) autograd::note_departure(op.info->name, operands, out);
  return out;
}

template <class... Inputs>
Tensor dispatch(const ElementwiseOp& op, const Inputs&... inputs) {
  if (autograd::modes().interceptors) [[unlikely]]
    return apply_intercepted(op, inputs...);
  return apply(op, inputs...);
}

/// True if all operands are tensors of one dtype on one device, so that nothing needs promotion or checks.
template <class... Rest>
bool are_alike(const Operand& first, const Rest&... rest) {
  [[maybe_unused]] const auto like_first = [&](const Operand& other) {
    return !other.is_number() && other.tensor().dtype() == first.tensor().dtype() &&
           other.tensor().device() == first.tensor().device();
  };
  return !first.is_number() && (like_first(rest) && ...);
}

/// Returns the result of operands of which compares_beyond() is true.
Tensor compared_beyond(const ElementwiseOp& op, std::span<const Operand* const> operands);

template <class... Operands>
Tensor call(const ElementwiseOp& op, const Operands&... operands) {
  const std::array<const Operand*, sizeof...(Operands)> list{&operands...};
  for (const Operand* operand : list) {
    if (!operand->is_number() && !operand->tensor().defined())
      fail<ValueError>("[", op.info->name, "] got an undefined tensor");
  }
  if (!op.mask_input && are_alike(operands...) && op.info->dtypes.contains(list[0]->tensor().dtype())) {
    return dispatch(op, operands.tensor()...);
  }
  const DType dtype = compute_dtype(op, list);
  check_devices(op, list);
  if constexpr (sizeof...(Operands) == 2) {
    if (op.mask_output && compares_beyond(op, list, dtype)) [[unlikely]]
      return compared_beyond(op, list);
  }
  const auto in = [&](DType computed) {
    bool mask = op.mask_input;
    std::size_t place = 0;
    return std::apply(
        [&](const auto&... converted) { return dispatch(op, converted.tensor()...); },
        std::tuple{Converted(op, operands, std::exchange(place, place + 1), computed, std::exchange(mask, false))...});
  };
  if (are_wide_integers(op, list, dtype)) [[unlikely]] {
    const Tensor y = in(DType::Float64);
    return y.dtype() == DType::Float64 ? cast(y, dtype) : y;
  }
  return in(dtype);
}

[[gnu::noinline]] Tensor compared_beyond(const ElementwiseOp& op, std::span<const Operand* const> operands) {
  const auto numbers = ordered_like(operands);
  const std::size_t tensor = operands[0]->is_number() ? 1 : 0;
  const Tensor alike = full_like(operands[tensor]->tensor(), numbers[tensor]);
  return tensor == 0 ? call(op, Operand(alike), Operand(numbers[1])) : call(op, Operand(numbers[0]), Operand(alike));
}

}  // namespace

Tensor call_elementwise(const ElementwiseOp& op, const Operand& a) { return call(op, a); }
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b) { return call(op, a, b); }
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c) {
  return call(op, a, b, c);
}
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c,
                        const Operand& d) {
  return call(op, a, b, c, d);
}

}  // namespace lamella
