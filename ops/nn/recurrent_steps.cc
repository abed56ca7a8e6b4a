#include "ops/nn/recurrent_steps.h"

#include <algorithm>
#include <type_traits>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/alias.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr std::int64_t kGrain = 2048;  // elements of the state per task

template <class T>
const cpu::CellKernels<T>& kernels_of(CellKind kind) {
  const cpu::RecurrentKernels<T>* all = nullptr;
  if constexpr (std::is_same_v<T, float>) {
    all = &cpu_kernels().recurrent.float32;
  } else {
    all = &cpu_kernels().recurrent.float64;
  }
  switch (kind) {
    case CellKind::Tanh:
      return all->tanh;
    case CellKind::Relu:
      return all->relu;
    case CellKind::Lstm:
      return all->lstm;
    case CellKind::Gru:
      break;
  }
  return all->gru;
}

/// Sizes and order of the steps.
struct Plan {
  CellKind kind;
  bool backwards;
  std::int64_t steps;
  std::int64_t rows;
  std::int64_t hidden;
  std::int64_t gates;  ///< elements of a row of from_x

  explicit Plan(const RecurrentSteps& of)
      : kind(of.kind),
        backwards(of.backwards),
        steps(of.from_x.size(0)),
        rows(of.from_x.size(1)),
        hidden(of.h.size(1)),
        gates(of.from_x.size(2)) {}

  /// Returns the position in the sequence of the i-th step.
  std::int64_t position(std::int64_t i) const { return backwards ? steps - 1 - i : i; }

  /// Returns a matrix [rows, width] of a tensor [steps, rows, width] or, of one without steps, all of it.
  static Tensor at(const Tensor& x, std::int64_t position) {
    if (!x.defined() || x.ndim() == 2) return x;
    const Dims shape{x.size(1), x.size(2)};
    return make_view(x, shape, contiguous_strides(shape), position * shape[0] * shape[1]);
  }
};

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// Calls f(step, first row) for parts of the rows of a step, on several threads.
template <class T, class F>
void for_each_rows(const CellOperands& whole, F&& f) {
  const std::int64_t hidden = whole.h.size(1), gates = whole.from_x.size(1);
  parallel_for(0, whole.h.size(0), std::max<std::int64_t>(1, kGrain / hidden),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t at = begin * hidden;
                 f(cpu::CellStep<T>{end - begin, hidden, whole.from_x.data<T>() + begin * gates,
                                    whole.from_h.data<T>() + begin * gates, whole.h.data<T>() + at,
                                    whole.c.defined() ? whole.c.data<T>() + at : nullptr},
                   begin);
               });
}

/// Writes the state and the memory after a step.
void take_step(const CellOperands& step, const Tensor& next_h, const Tensor& next_c) {
  if (!next_h.device().is_cpu())
    return device_kernel<&DeviceKernels::recurrent_step>(next_h.device(), "recurrent")(step, next_h, next_c);
  visit<kTaken>(next_h.dtype(), "recurrent", [&]<class T> {
    for_each_rows<T>(step, [&](const cpu::CellStep<T>& part, std::int64_t row) {
      const std::int64_t at = row * part.hidden;
      kernels_of<T>(step.kind).forward(part,
                                       {next_h.data<T>() + at, next_c.defined() ? next_c.data<T>() + at : nullptr});
    });
  });
}

/// Writes the gradients of a step.
void take_step_back(const CellOperands& step, const CellArrows& arrows) {
  if (!step.h.device().is_cpu())
    return device_kernel<&DeviceKernels::recurrent_step_gradient>(step.h.device(), "recurrent")(step, arrows);
  visit<kTaken>(step.h.dtype(), "recurrent", [&]<class T> {
    for_each_rows<T>(step, [&](const cpu::CellStep<T>& part, std::int64_t row) {
      const auto moved = [&](const Tensor& x) { return x.defined() ? x.data<T>() + row * x.size(1) : nullptr; };
      cpu::CellGradients<T> gradients{.dc = moved(arrows.dc),
                                      .dfrom_x = moved(arrows.dfrom_x),
                                      .dfrom_h = moved(arrows.dfrom_h),
                                      .directly = moved(arrows.directly),
                                      .next_c = moved(arrows.next_c)};
      for (std::size_t k = 0; k < arrows.dh.size(); ++k) gradients.dh[k] = moved(arrows.dh[k]);
      kernels_of<T>(step.kind).backward(part, gradients);
    });
  });
}

/// Products, states and memories of all steps. Without a tape, from_h and c are those of the last step.
struct Trail {
  Tensor from_h;  ///< products of the states with the weights
  Tensor h;
  Tensor c;
};

Trail perform(const RecurrentSteps& of, bool recording) {
  const Plan plan(of);
  const DType dtype = of.h.dtype();
  const Device device = of.h.device();
  const auto kept = [&](std::int64_t width) {
    return recording ? empty({plan.steps, plan.rows, width}, dtype, device) : empty({plan.rows, width}, dtype, device);
  };
  Trail trail{kept(plan.gates), empty({plan.steps, plan.rows, plan.hidden}, dtype, device),
              of.c ? kept(plan.hidden) : Tensor()};
  const Tensor weight = matrix_transpose(of.weight);
  const HostRelease release(plan.steps * plan.rows * plan.gates);
  CellOperands step{plan.kind, {}, {}, of.h, of.c.value_or(Tensor())};
  for (std::int64_t i = 0; i < plan.steps; ++i) {
    const std::int64_t t = plan.position(i);
    step.from_x = Plan::at(of.from_x, t);
    step.from_h = Plan::at(trail.from_h, t);
    const Tensor next_h = Plan::at(trail.h, t), next_c = Plan::at(trail.c, t);
    write_product(step.h, weight, of.bias.value_or(Tensor()), step.from_h, "recurrent");
    take_step(step, next_h, next_c);
    step.h = next_h;
    step.c = next_c;
  }
  return trail;
}

/// Gradients of the operands.
struct StepGradients {
  Tensor from_x;
  Tensor from_h;
  Tensor h;
  Tensor c;
};

StepGradients differentiate(const RecurrentSteps& of, const Trail& trail, const Tensor& dstates,
                            const Tensor& dlast_c) {
  const Plan plan(of);
  const DType dtype = of.h.dtype();
  const Device device = of.h.device();
  const bool gru = plan.kind == CellKind::Gru;
  const Dims state{plan.rows, plan.hidden};
  StepGradients grads{empty(of.from_x.shape(), dtype, device), Tensor(), Tensor(), Tensor()};
  grads.from_h = gru ? empty(of.from_x.shape(), dtype, device) : grads.from_x;
  if (of.c) grads.c = dlast_c.defined() ? clone(dlast_c) : zeros(state, dtype, device);
  Tensor carried;
  CellArrows arrows;
  arrows.dc = grads.c;
  if (gru) arrows.directly = empty(state, dtype, device);
  const HostRelease release(plan.steps * plan.rows * plan.gates);
  for (std::int64_t i = plan.steps; i-- > 0;) {
    const std::int64_t t = plan.position(i);
    const auto before = [&](const Tensor& first, const Tensor& all) {
      return i == 0 ? first : Plan::at(all, plan.position(i - 1));
    };
    const CellOperands step{plan.kind, Plan::at(of.from_x, t), Plan::at(trail.from_h, t), before(of.h, trail.h),
                            before(of.c.value_or(Tensor()), trail.c)};
    arrows.dh = {Plan::at(dstates, t), carried, carried.defined() ? arrows.directly : Tensor()};
    arrows.dfrom_x = Plan::at(grads.from_x, t);
    if (gru) arrows.dfrom_h = Plan::at(grads.from_h, t);
    arrows.next_c = Plan::at(trail.c, t);
    take_step_back(step, arrows);
    carried = empty(state, dtype, device);
    write_product(Plan::at(grads.from_h, t), of.weight, Tensor(), carried, "recurrent");
  }
  grads.h = gru ? carried + arrows.directly : carried;
  return grads;
}

/// Returns the gradient of the weight: the products of all steps' gradients with the states before them, at once.
Tensor weight_gradient(const RecurrentSteps& of, const Trail& trail, const Tensor& dfrom_h) {
  const Plan plan(of);
  const std::int64_t others = plan.steps - 1;
  const auto flat = [&](const Tensor& x, std::int64_t from, std::int64_t count) {
    return reshape(narrow(x, 0, from, count), Dims{count * plan.rows, x.size(2)});
  };
  Tensor first = matmul(matrix_transpose(flat(dfrom_h, plan.position(0), 1)), of.h);
  if (others == 0) return first;
  const std::int64_t from = plan.backwards ? 0 : 1;
  return first + matmul(matrix_transpose(flat(dfrom_h, from, others)), flat(trail.h, 1 - from, others));
}

/// Settings and shape of a recorded call.
struct Call {
  CellKind kind;
  bool backwards;
  bool has_memory;
  bool has_bias;
};

/// Returns the operands with the layout that the kernels read.
RecurrentSteps in_rows(const RecurrentSteps& given) {
  RecurrentSteps of = given;
  of.from_x = contiguous(of.from_x);
  of.h = contiguous(of.h);
  if (of.c) of.c = contiguous(*of.c);
  return of;
}

struct RecurrentLayer : OperatorLayer<RecurrentLayer> {
  static constexpr std::string_view name = "recurrent";

  static std::vector<Tensor> forward(Context& ctx, CellKind kind, bool backwards, const Tensor& from_x, const Tensor& h,
                                     const std::optional<Tensor>& c, const Tensor& weight,
                                     const std::optional<Tensor>& bias) {
    const RecurrentSteps of = in_rows({kind, backwards, from_x, h, c, weight, bias});
    const Trail trail = perform(of, ctx.recording());
    if (!ctx.recording()) return c ? std::vector{trail.h, trail.c} : std::vector{trail.h};
    ctx.state<Call>() = {kind, backwards, c.has_value(), bias.has_value()};
    std::vector<Tensor> saved{from_x, h, weight, trail.from_h, trail.h};
    if (c) saved.insert(saved.end(), {*c, trail.c});
    if (bias) saved.push_back(*bias);
    ctx.save_for_backward(std::span<const Tensor>(saved));
    // The caller may write into the results.
    std::vector<Tensor> results{clone(trail.h)};
    if (c) results.push_back(clone(Plan::at(trail.c, Plan(of).position(from_x.size(0) - 1))));
    return results;
  }

  static TensorList backward(Context& ctx, const TensorList& grads) {
    const Call call = ctx.state<Call>();
    const TensorList saved = ctx.saved_tensors();
    RecurrentSteps of{call.kind, call.backwards, saved[0], saved[1], std::nullopt, saved[2], std::nullopt};
    Trail trail{saved[3], saved[4], Tensor()};
    if (call.has_memory) {
      of.c = saved[5];
      trail.c = saved[6];
    }
    if (call.has_bias) of.bias = saved[saved.size() - 1];
    const auto& edges = ctx.node()->edges();
    const bool batched = std::ranges::any_of(grads, [](const Tensor& x) { return x.defined() && is_batched(x); });
    if (autograd::is_grad_enabled() || autograd::any_dual(saved) || autograd::any_dual(grads) || batched)
      return by_operators(of, grads, edges);
    const auto given = [&](std::size_t i) {
      return i < grads.size() && grads[i].defined() ? contiguous(grads[i]) : Tensor();
    };
    const StepGradients made = differentiate(in_rows(of), trail, given(0), given(1));
    TensorList results{made.from_x, made.h};
    if (call.has_memory) results.push_back(made.c);
    results.push_back(autograd::is_needed(edges[results.size()]) ? weight_gradient(of, trail, made.from_h) : Tensor());
    if (call.has_bias) {
      const bool needed = autograd::is_needed(edges[results.size()]);
      results.push_back(needed ? sum(reshape(made.from_h, Dims{-1, made.from_h.size(2)}), 0) : Tensor());
    }
    return results;
  }

 private:
  /// Computes the gradients through a second run by operators, so that they have derivatives.
  static TensorList by_operators(RecurrentSteps of, const TensorList& grads, const SmallVector<Edge, 2>& edges) {
    const bool create_graph = autograd::is_grad_enabled();
    const autograd::GradMode recording(true);
    std::vector<Tensor*> operands{&of.from_x, &of.h};
    if (of.c) operands.push_back(&*of.c);
    operands.push_back(&of.weight);
    if (of.bias) operands.push_back(&*of.bias);
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!autograd::is_needed(edges[i])) continue;
      Tensor& x = *operands[i];
      if (create_graph) {
        x = own_alias(x);
      } else {
        x = x.detach();
        x.set_stop_gradient(false);
      }
      wanted.push_back(x);
    }
    std::vector<Tensor> outputs, seeds;
    const std::vector<Tensor> results = run_steps_by_operators(of);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i >= grads.size() || !grads[i].defined()) continue;
      outputs.push_back(results[i]);
      seeds.push_back(grads[i]);
    }
    const std::vector<Tensor> found =
        autograd::grad(outputs, wanted, seeds, {.create_graph = create_graph, .allow_unused = true});
    TensorList all(edges.size());
    for (std::size_t i = 0, next = 0; i < operands.size(); ++i) {
      if (autograd::is_needed(edges[i])) all[i] = found[next++];
    }
    return all;
  }
};

}  // namespace

bool takes_steps(const RecurrentSteps& steps) {
  std::vector<const Tensor*> operands{&steps.from_x, &steps.h, &steps.weight};
  if (steps.c) operands.push_back(&*steps.c);
  if (steps.bias) operands.push_back(&*steps.bias);
  const DType dtype = steps.h.dtype();
  const Device device = steps.h.device();
  if (!device.is_cpu() && !has_device_kernel<&DeviceKernels::recurrent_step>(device)) return false;
  return kTaken.contains(dtype) && steps.h.numel() > 0 && std::ranges::all_of(operands, [&](const Tensor* x) {
           return x->device() == device && x->dtype() == dtype && !is_batched(*x) && !autograd::any_dual({x, 1});
         });
}

std::vector<Tensor> run_steps(const RecurrentSteps& steps) {
  return RecurrentLayer::apply(steps.kind, steps.backwards, steps.from_x, steps.h, steps.c, steps.weight, steps.bias);
}

}  // namespace lamella
