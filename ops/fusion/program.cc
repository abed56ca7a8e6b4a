#include "ops/fusion/program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/pow.h"
#include "ops/fusion/native/forms.h"

namespace lamella::fusion {
namespace {

/// Returns a program with the same instructions and no outputs, of which no gradient is made.
Program steps_of(const Program& program) {
  Program copy;
  copy.inputs = program.inputs;
  copy.constants = program.constants;
  copy.registers = program.registers;
  copy.instructions = program.instructions;
  copy.name = program.name;
  return copy;
}

/// True if computing the result anew takes longer than reading it.
bool is_worth_keeping(const Program& program, const Instruction& instruction) {
  if (instruction.wrt >= 0 || !instruction.op->takes_long || instruction.op->mask_output) return false;
  if (instruction.op != &elementwise_op<Pow>()) return true;
  // Kernels have short forms for small whole powers.
  const Register& exponent = program.registers[static_cast<std::size_t>(instruction.operands[1])];
  if (exponent.kind != Register::Kind::Constant) return true;
  const auto value = program.constants[static_cast<std::size_t>(exponent.index)].to<double>();
  return std::abs(value) > 3 || std::nearbyint(value) != value;
}

Program::Recorded record(const Program& program, const std::vector<bool>& wanted) {
  std::vector<bool> given;
  given.reserve(program.outputs.size());
  for (const int output : program.outputs)
    given.push_back(output >= 0 && !program.registers[static_cast<std::size_t>(output)].mask);
  const Program gradient = gradient_of(program, wanted, given, {});
  Program::Recorded recorded{.program = steps_of(program), .kept = {}, .reached = {}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::vector<bool> alone(given.size(), false);
    alone[i] = given[i];
    recorded.reached.push_back(
        std::ranges::any_of(gradient_of(program, wanted, alone, {}).outputs, [](int output) { return output >= 0; }));
  }
  for (const Instruction& instruction : gradient.instructions) {
    // The gradient's first registers are the program's.
    const bool is_own = static_cast<std::size_t>(instruction.result) < program.registers.size();
    if (is_own && is_worth_keeping(program, instruction)) recorded.kept.push_back(instruction.result);
  }
  recorded.program.outputs = program.outputs;
  recorded.program.outputs.insert(recorded.program.outputs.end(), recorded.kept.begin(), recorded.kept.end());
  return recorded;
}

}  // namespace

/// Programs that were made of one.
struct Program::Gradients {
  std::mutex mutex;
  std::map<std::vector<bool>, std::shared_ptr<const Recorded>> recorded;
  std::map<std::tuple<std::vector<bool>, std::vector<bool>, std::vector<int>>, std::shared_ptr<const Program>> made;
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, std::shared_ptr<const Program>> joint;
};

Program::Program() : gradients_(std::make_shared<Gradients>()), forms_(std::make_shared<native::Forms>()) {}

std::shared_ptr<const Program> Program::gradient(const std::vector<bool>& wanted, const std::vector<bool>& given,
                                                 const std::vector<int>& kept) const {
  const std::lock_guard lock(gradients_->mutex);
  auto& program = gradients_->made[{wanted, given, kept}];
  if (!program) program = std::make_shared<const Program>(gradient_of(*this, wanted, given, kept));
  return program;
}

std::shared_ptr<const Program> Program::with_gradient(const std::vector<bool>& wanted,
                                                      const std::vector<bool>& given) const {
  const std::lock_guard lock(gradients_->mutex);
  auto& program = gradients_->joint[{wanted, given}];
  if (!program) program = std::make_shared<const Program>(fusion::with_gradient(*this, wanted, given));
  return program;
}

std::shared_ptr<const Program::Recorded> Program::recorded(const std::vector<bool>& wanted) const {
  const std::lock_guard lock(gradients_->mutex);
  auto& recorded = gradients_->recorded[wanted];
  if (!recorded) recorded = std::make_shared<const Recorded>(record(*this, wanted));
  return recorded;
}

int Program::add_register(Register::Kind kind, int index, bool mask) {
  registers.push_back({kind, index, mask});
  return static_cast<int>(registers.size()) - 1;
}

int Program::add_constant(const Scalar& value) {
  constants.push_back(value);
  return add_register(Register::Kind::Constant, static_cast<int>(constants.size()) - 1, false);
}

int Program::add(const ElementwiseOp& op, SmallVector<int, 4> operands) {
  const int result = add_register(Register::Kind::Result, 0, op.mask_output);
  instructions.push_back({&op, -1, std::move(operands), result});
  return result;
}

int Program::add_gradient(const ElementwiseOp& op, int wrt, SmallVector<int, 4> operands) {
  const int result = add_register(Register::Kind::Result, 0, false);
  instructions.push_back({&op, wrt, std::move(operands), result});
  return result;
}

void Program::drop_unread() {
  std::vector<bool> read(registers.size(), false);
  for (const int output : outputs) {
    if (output >= 0) read[static_cast<std::size_t>(output)] = true;
  }
  for (const LayerCall& layer : layers) {
    for (const int saved : layer.saved) read[static_cast<std::size_t>(saved)] = true;
  }
  std::vector<Instruction> kept;
  for (std::size_t i = instructions.size(); i-- > 0;) {
    if (!read[static_cast<std::size_t>(instructions[i].result)]) continue;
    for (const int operand : instructions[i].operands) read[static_cast<std::size_t>(operand)] = true;
    kept.push_back(std::move(instructions[i]));
  }
  std::ranges::reverse(kept);
  instructions = std::move(kept);
}

namespace {

/// Returns the factor of a gradient formula that reads the incoming gradient alone, which is linear in it.
Scalar factor_of(const ElementwiseOp& op, int wrt) {
  const autograd::InternalScope scope;
  std::vector<Tensor> operands(static_cast<std::size_t>(op.inputs) + 2);
  operands.back() = number_tensor(1.0, DType::Float64);
  const Tensor factor = op.formulas[static_cast<std::size_t>(wrt)](operands.data());
  return *factor.data<double>();
}

/// Builds the program of the gradients.
class Reverse {
 public:
  Reverse(const Program& program, const std::vector<bool>& wanted, const std::vector<bool>& given,
          const std::vector<int>& kept)
      : forward_(program), result_(steps_of(program)), grads_(program.registers.size(), -1) {
    for (const int value : kept)
      result_.registers[static_cast<std::size_t>(value)] = {Register::Kind::Input, result_.inputs++, false};
    std::erase_if(result_.instructions, [&](const Instruction& instruction) {
      return std::ranges::find(kept, instruction.result) != kept.end();
    });
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!given[i]) continue;
      const int dy = result_.add_register(Register::Kind::Input, result_.inputs++, false);
      accumulate(program.outputs[i], dy);
    }
    for (std::size_t i = program.instructions.size(); i-- > 0;) step(program.instructions[i]);
    result_.outputs.assign(static_cast<std::size_t>(program.inputs), -1);
    for (std::size_t r = 0; r < program.registers.size(); ++r) {
      const Register& one = program.registers[r];
      if (one.kind == Register::Kind::Input && wanted[static_cast<std::size_t>(one.index)])
        result_.outputs[static_cast<std::size_t>(one.index)] = grads_[r];
    }
  }

  Program take() {
    result_.name += "-backward";
    result_.drop_unread();
    return std::move(result_);
  }

  /// Returns the program with the forward's outputs before its own.
  Program take_with_outputs() {
    // The first registers are the forward's.
    result_.outputs.insert(result_.outputs.begin(), forward_.outputs.begin(), forward_.outputs.end());
    result_.name += "-with-gradient";
    result_.drop_unread();
    return std::move(result_);
  }

 private:
  void accumulate(int target, int grad) {
    int& sum = grads_[static_cast<std::size_t>(target)];
    sum = sum < 0 ? grad : result_.add(elementwise_op<Add>(), {sum, grad});
  }

  void step(const Instruction& instruction) {
    if (instruction.layer >= 0) return step(static_cast<std::size_t>(instruction.layer));
    const int dy = grads_[static_cast<std::size_t>(instruction.result)];
    if (dy < 0) return;
    const ElementwiseOp& op = *instruction.op;
    for (int i = 0; i < op.inputs; ++i) {
      const unsigned reads = op.reads[static_cast<std::size_t>(i)];
      const int target = instruction.operands[static_cast<std::size_t>(i)];
      const Register& to = forward_.registers[static_cast<std::size_t>(target)];
      if (!reads || to.mask || to.kind == Register::Kind::Constant) continue;
      accumulate(target, has_fused_backward(op, i) ? fused(op, i, reads, instruction, dy) : scaled(op, i, dy));
    }
  }

  /// Takes all instructions of a layer, at the last of them.
  void step(std::size_t at) {
    const LayerCall& layer = forward_.layers[at];
    const int dy = std::exchange(grads_[static_cast<std::size_t>(layer.result)], -1);
    if (dy < 0) return;
    const Program& backward = *layer.backward;
    std::vector<int> registers;
    for (const Register& one : backward.registers) {
      const auto index = static_cast<std::size_t>(one.index);
      registers.push_back(one.kind == Register::Kind::Constant ? result_.add_constant(backward.constants[index])
                          : one.kind == Register::Kind::Result ? -1
                          : index < layer.saved.size()         ? layer.saved[index]
                                                               : dy);
    }
    for (const Instruction& instruction : backward.instructions) {
      SmallVector<int, 4> operands;
      for (const int operand : instruction.operands) operands.push_back(registers[static_cast<std::size_t>(operand)]);
      registers[static_cast<std::size_t>(instruction.result)] = result_.add(*instruction.op, std::move(operands));
    }
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      if (backward.outputs[i] >= 0)
        accumulate(layer.inputs[i], registers[static_cast<std::size_t>(backward.outputs[i])]);
    }
  }

  int fused(const ElementwiseOp& op, int wrt, unsigned reads, const Instruction& instruction, int dy) {
    SmallVector<int, 4> operands;
    for (int k = 0; k <= op.inputs + 1; ++k) {
      if (!(reads >> k & 1)) continue;
      operands.push_back(k < op.inputs    ? instruction.operands[static_cast<std::size_t>(k)]
                         : k == op.inputs ? instruction.result
                                          : dy);
    }
    return result_.add_gradient(op, wrt, std::move(operands));
  }

  int scaled(const ElementwiseOp& op, int wrt, int dy) {
    const Scalar factor = factor_of(op, wrt);
    return factor.to<double>() == 1 ? dy : result_.add(elementwise_op<Multiply>(), {dy, result_.add_constant(factor)});
  }

  const Program& forward_;
  Program result_;
  /// The register of the gradient of each of the program's registers; -1 while there is none.
  std::vector<int> grads_;
};

}  // namespace

Program gradient_of(const Program& program, const std::vector<bool>& wanted, const std::vector<bool>& given,
                    const std::vector<int>& kept) {
  return Reverse(program, wanted, given, kept).take();
}

Program with_gradient(const Program& program, const std::vector<bool>& wanted, const std::vector<bool>& given) {
  return Reverse(program, wanted, given, {}).take_with_outputs();
}

}  // namespace lamella::fusion
