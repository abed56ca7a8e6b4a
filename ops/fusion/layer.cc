// The autograd layer of fused programs.

#include <algorithm>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/layers/function.h"
#include "ops/fusion/program.h"
#include "ops/shape/alias.h"

namespace lamella::fusion {
namespace {

/// Calls the elementwise operator of an instruction.
Tensor call(const Instruction& instruction, const std::vector<Operand>& operands) {
  const ElementwiseOp& op = *instruction.op;
  switch (op.inputs) {
    case 1:
      return call_elementwise(op, operands[0]);
    case 2:
      return call_elementwise(op, operands[0], operands[1]);
    case 3:
      return call_elementwise(op, operands[0], operands[1], operands[2]);
    default:
      return call_elementwise(op, operands[0], operands[1], operands[2], operands[3]);
  }
}

/// Runs a program without gradient instructions by calls of its operators, as the eager program does.
std::vector<Tensor> call_one_by_one(const Program& program, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(program.registers.size());
  for (std::size_t r = 0; r < values.size(); ++r) {
    const Register& one = program.registers[r];
    if (one.kind == Register::Kind::Input) values[r] = inputs[static_cast<std::size_t>(one.index)];
  }
  std::vector<bool> called(program.layers.size(), false);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.layer >= 0) {
      const auto at = static_cast<std::size_t>(instruction.layer);
      const LayerCall& layer = program.layers[at];
      if (called[at]) continue;
      called[at] = true;
      std::vector<Tensor> given;
      given.reserve(layer.inputs.size());
      for (const int input : layer.inputs) given.push_back(values[static_cast<std::size_t>(input)]);
      values[static_cast<std::size_t>(layer.result)] = layer.function(std::move(given)).front();
      continue;
    }
    std::vector<Operand> operands;
    for (const int operand : instruction.operands) {
      const auto r = static_cast<std::size_t>(operand);
      const Register& one = program.registers[r];
      if (one.kind == Register::Kind::Constant) {
        operands.emplace_back(program.constants[static_cast<std::size_t>(one.index)]);
      } else {
        operands.emplace_back(values[r]);
      }
    }
    values[static_cast<std::size_t>(instruction.result)] = call(instruction, operands);
  }
  std::vector<Tensor> outputs;
  outputs.reserve(program.outputs.size());
  for (const int output : program.outputs)
    outputs.push_back(output < 0 ? Tensor() : values[static_cast<std::size_t>(output)]);
  return outputs;
}

/// For each input, true if a gradient may be asked for.
std::vector<bool> wanted_of(const std::vector<Tensor>& inputs) {
  std::vector<bool> wanted;
  wanted.reserve(inputs.size());
  for (const Tensor& x : inputs) wanted.push_back(!x.stop_gradient() && x.dtype() != DType::Bool);
  return wanted;
}

/// Gradients of a call's inputs that were computed with its outputs.
class Foreseen {
 public:
  Foreseen() = default;
  Foreseen(const std::vector<Tensor>& seeds, std::vector<Tensor> gradients)
      : seeds_(seeds), gradients_(std::move(gradients)) {
    for (const Tensor& seed : seeds) versions_.push_back(seed.defined() ? seed.version() : 0);
  }

  /// Returns the gradients if `grads` are the tensors that they were computed from, unchanged; else nothing. They are
  /// given away once, as backward may write to what it owns alone.
  std::optional<TensorList> take(const TensorList& grads) {
    const Foreseen taken = std::exchange(*this, Foreseen());
    if (taken.gradients_.empty()) return {};
    for (std::size_t k = 0; k < grads.size(); ++k) {
      const Tensor& seed = taken.seeds_[k];
      if (grads[k].defined() != seed.defined()) return {};
      if (seed.defined() && (!seed.same(grads[k]) || seed.version() != taken.versions_[k])) return {};
    }
    return TensorList(taken.gradients_.begin(), taken.gradients_.end());
  }

 private:
  std::vector<Tensor> seeds_, gradients_;
  std::vector<std::uint32_t> versions_;
};

/// State of a recorded call, beside its tensors.
struct Call {
  std::shared_ptr<const Program> program;
  /// Registers whose values are saved after the inputs.
  std::vector<int> kept;
  Foreseen foreseen;
};

struct Fused : Function<Fused> {
  static constexpr bool kChecksGradients = false;
  static std::string name_of(const Context& ctx) { return static_cast<const Program*>(ctx.tag)->name; }

  static std::vector<Tensor> forward(Context& ctx, const std::shared_ptr<const Program>& program,
                                     const std::vector<Tensor>& inputs, const std::vector<Tensor>* seeds) {
    ctx.tag = program.get();
    if (!ctx.recording() || autograd::any_dual(inputs)) {
      ctx.state<Call>() = {program, {}, {}};
      ctx.save_for_backward(std::span<const Tensor>(inputs));
      return run(*program, inputs);
    }
    const std::vector<bool> wanted = wanted_of(inputs);
    const std::shared_ptr<const Program::Recorded> recorded = program->recorded(wanted);
    std::vector<Tensor> outputs, saved = inputs;
    if (const std::shared_ptr<const Program> joint = joint_of(*program, wanted, inputs, *seeds)) {
      outputs = run(*joint, joint_inputs(inputs, *seeds));
      const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(program->outputs.size());
      ctx.state<Call>() = {program, {}, Foreseen(*seeds, {first, outputs.end()})};
    } else {
      outputs = run(recorded->program, inputs);
      saved.insert(saved.end(), outputs.begin() + static_cast<std::ptrdiff_t>(program->outputs.size()), outputs.end());
      ctx.state<Call>() = {program, recorded->kept, {}};
    }
    outputs.resize(program->outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k].defined() && !recorded->reached[k]) ctx.mark_non_differentiable(outputs[k]);
    }
    ctx.save_for_backward(std::span<const Tensor>(saved));
    return outputs;
  }

  static TensorList backward(Context& ctx, const TensorList& grads) {
    const Program& program = *ctx.state<Call>().program;
    const std::vector<int>& kept = ctx.state<Call>().kept;
    TensorList saved = ctx.saved_tensors();
    std::vector<Tensor> inputs(saved.begin(), saved.end());
    std::vector<bool> wanted, given;
    for (std::size_t i = 0; i < inputs.size() - kept.size(); ++i)
      wanted.push_back(autograd::is_needed(ctx.node()->edges()[i]));
    for (const Tensor& grad : grads) given.push_back(grad.defined());
    std::optional<TensorList> foreseen = ctx.state<Call>().foreseen.take(grads);
    if (foreseen && !autograd::is_grad_enabled() && !autograd::any_dual(inputs)) return std::move(*foreseen);
    if (autograd::is_grad_enabled() || autograd::any_dual(inputs)) {
      inputs.resize(wanted.size());
      return recorded(program, inputs, wanted, grads);
    }
    for (const Tensor& grad : grads) {
      if (grad.defined()) inputs.push_back(in_blocks(grad));
    }
    const std::shared_ptr<const Program> gradient = program.gradient(wanted, given, kept);
    if (!is_ready(*gradient, inputs)) {
      inputs.resize(wanted.size());
      return recorded(program, inputs, wanted, grads);
    }
    const std::vector<Tensor> results = run(*gradient, inputs);
    return TensorList(results.begin(), results.end());
  }

 private:
  static std::vector<Tensor> joint_inputs(const std::vector<Tensor>& inputs, const std::vector<Tensor>& seeds) {
    std::vector<Tensor> all = inputs;
    std::ranges::copy_if(seeds, std::back_inserter(all), &Tensor::defined);
    return all;
  }

  /// Returns the program that computes outputs and gradients at once; null if there are no seeds, or it cannot run.
  static std::shared_ptr<const Program> joint_of(const Program& program, const std::vector<bool>& wanted,
                                                 const std::vector<Tensor>& inputs, const std::vector<Tensor>& seeds) {
    if (seeds.empty()) return nullptr;
    std::vector<bool> given;
    given.reserve(seeds.size());
    for (const Tensor& seed : seeds) given.push_back(seed.defined());
    std::shared_ptr<const Program> joint = program.with_gradient(wanted, given);
    const std::vector<Tensor> all = joint_inputs(inputs, seeds);
    return fits(*joint, all) && is_ready(*joint, all) ? joint : nullptr;
  }

  /// Returns a gradient as run() takes it: contiguous, or the one number that it repeats.
  static Tensor in_blocks(const Tensor& grad) {
    if (grad.is_contiguous()) return grad;
    if (std::ranges::all_of(grad.strides(), [](std::int64_t stride) { return stride == 0; }))
      return make_view(grad, Dims(), Dims(), 0);
    return autograd::primitives().clone(grad);
  }

  /// Computes the gradients so that they have derivatives: through the operators, called one by one.
  static TensorList recorded(const Program& program, const std::vector<Tensor>& saved, const std::vector<bool>& wanted,
                             const TensorList& grads) {
    const bool create_graph = autograd::is_grad_enabled();
    const autograd::GradMode recording(true);
    std::vector<Tensor> inputs;
    inputs.reserve(saved.size());
    for (const Tensor& x : saved) inputs.push_back(own_alias(x));
    const std::vector<Tensor> outputs = call_one_by_one(program, inputs);
    std::vector<Tensor> targets, seeds, sources;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!grads[i].defined() || outputs[i].stop_gradient()) continue;
      targets.push_back(outputs[i]);
      seeds.push_back(grads[i]);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i]) sources.push_back(inputs[i]);
    }
    const std::vector<Tensor> found =
        autograd::grad(targets, sources, seeds, {.create_graph = create_graph, .allow_unused = true});
    TensorList results(inputs.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i]) results[i] = found[next++];
    }
    return results;
  }
};

/// True if what forward is going to run can be run.
bool forward_is_ready(const Program& program, const std::vector<Tensor>& inputs) {
  if (inputs.front().device().is_cpu()) return true;
  const bool records =
      autograd::is_grad_enabled() && std::ranges::any_of(inputs, [](const Tensor& x) { return !x.stop_gradient(); });
  return is_ready(records ? program.recorded(wanted_of(inputs))->program : program, inputs);
}

}  // namespace

std::vector<Tensor> apply(const std::shared_ptr<const Program>& program, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& seeds) {
  const bool single_wants_gradient =
      std::ranges::any_of(inputs, [](const Tensor& x) { return x.ndim() == 0 && !x.stop_gradient(); });
  if (!fits(*program, inputs) || (single_wants_gradient && autograd::is_grad_enabled()))
    return call_one_by_one(*program, inputs);
  if (!forward_is_ready(*program, inputs)) return call_one_by_one(*program, inputs);
  return Fused::apply(program, inputs, &seeds);
}

}  // namespace lamella::fusion
