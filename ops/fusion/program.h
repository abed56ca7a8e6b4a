#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"
#include "engine/graph/node.h"
#include "ops/elementwise/elementwise.h"

// Note [Fused programs]
// A chain of elementwise operators reads and writes each of its intermediate results in memory, which takes longer than
// computing them. A fused program runs the same kernels on one block of elements after the other, so that what lies
// between them stays in the first cache: memory is read once for each input and written once for each output. The
// kernels are those of the eager operators, and so is every bit of the results. The gradient of a program is a program,
// which computes the intermediate results that it needs anew, but for those that take long, which are kept; where
// several gradients are summed, their order may be another one than on the tape. Where a graph has the gradient that
// backward is going to begin with before the program runs, one program computes both the outputs and the gradients:
// nothing is read twice, and nothing is kept. Programs that are worth it are compiled: see Note [Native programs].

namespace lamella::fusion {
namespace native {
struct Forms;
}

/// A value of a program.
struct Register {
  enum class Kind : std::uint8_t { Input, Constant, Result };

  Kind kind = Kind::Result;
  /// Position among the program's inputs or constants.
  int index = 0;
  /// True if the elements are bools.
  bool mask = false;
};

/// A call of an elementwise kernel: the operator's own, or that of the gradient of input `wrt`.
struct Instruction {
  const ElementwiseOp* op = nullptr;
  int wrt = -1;
  /// Registers of the operands, in the order in which the kernel reads them.
  SmallVector<int, 4> operands;
  int result = 0;
  /// Number of the layer that it is a part of; -1 for none.
  int layer = -1;
};

struct Program;

/// Instructions of a program whose gradient is not that of their operators.
struct LayerCall {
  /// Registers of its inputs, of its result and of the values that its gradient reads.
  std::vector<int> inputs;
  int result = 0;
  std::vector<int> saved;
  /// Computes the gradients of the inputs (-1 among its outputs for None) from the saved values and the result's
  /// gradient.
  std::shared_ptr<const Program> backward;
  /// Computes the layer as a recorded operation.
  graph::GraphFunction function;
};

/// Elementwise operators on operands of one shape, or single numbers, and one dtype (masks beside it), in order.
struct Program {
  Program();

  int inputs = 0;
  std::vector<Scalar> constants;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<LayerCall> layers;
  /// Registers of the outputs; -1 for one that is not computed.
  std::vector<int> outputs;
  /// "fused multiply-tanh-add".
  std::string name;

  int add_register(Register::Kind kind, int index, bool mask);
  int add_constant(const Scalar& value);
  /// Adds a call of the operator; returns the register of its result.
  int add(const ElementwiseOp& op, SmallVector<int, 4> operands);
  /// Adds a call of the gradient kernel of input `wrt`.
  int add_gradient(const ElementwiseOp& op, int wrt, SmallVector<int, 4> operands);
  /// Removes instructions whose results nobody reads.
  void drop_unread();
  /// A program whose last outputs are values that gradients would take long to compute anew: those in `kept` registers
  /// of the program it was made from.
  struct Recorded;
  /// Returns what to run where the gradients of the inputs for which `wanted` is set may be asked for; it is made once.
  std::shared_ptr<const Recorded> recorded(const std::vector<bool>& wanted) const;
  /// Returns gradient_of() this program, which is made once for each set of arguments.
  std::shared_ptr<const Program> gradient(const std::vector<bool>& wanted, const std::vector<bool>& given,
                                          const std::vector<int>& kept) const;
  /// Returns with_gradient() of this program, which is made once for each set of arguments.
  std::shared_ptr<const Program> with_gradient(const std::vector<bool>& wanted, const std::vector<bool>& given) const;
  /// Returns the compiled forms; see Note [Native programs].
  native::Forms& forms() const { return *forms_; }

 private:
  struct Gradients;
  std::shared_ptr<Gradients> gradients_;
  std::shared_ptr<native::Forms> forms_;
};

struct Program::Recorded {
  Program program;
  std::vector<int> kept;
  /// For each output, true if a gradient flows from it to an input that wants one: none does through a mask.
  std::vector<bool> reached;
};

/// Returns the program of the gradients of `program`: its inputs are those of the program, then the `kept` registers,
/// then the gradient of each output for which `given` is set; its outputs are the gradients of the inputs for which
/// `wanted` is set, -1 for others and for those that no gradient reaches.
Program gradient_of(const Program& program, const std::vector<bool>& wanted, const std::vector<bool>& given,
                    const std::vector<int>& kept);

/// Returns a program that computes the outputs of `program` and, after them, the gradients of all its inputs, which are
/// -1 where gradient_of() has it: its inputs are those of the program, then the gradient of each output for which
/// `given` is set.
Program with_gradient(const Program& program, const std::vector<bool>& wanted, const std::vector<bool>& given);

/// True if the program can run on these tensors block by block, or as a kernel of a CUDA device: all are on one device,
/// contiguous, of one shape and dtype, which has kernels of its own. Otherwise its operators are called one by one.
bool fits(const Program& program, std::span<const Tensor> inputs);
/// True if run() takes a program and tensors for which fits() is true: on a CUDA device, if there is a kernel, which
/// may be compiled now.
bool is_ready(const Program& program, std::span<const Tensor> inputs);
/// Runs a program for which is_ready() is true; returns its outputs, undefined ones for -1.
std::vector<Tensor> run(const Program& program, std::span<const Tensor> inputs);

/// Computes the program's outputs as a recorded operation with one node. `seeds`, empty or one tensor for each output,
/// are the gradients that a later pass is expected to begin with, undefined where no output wants one: the gradients of
/// the inputs are then computed beside the outputs, and are there when just these gradients come.
std::vector<Tensor> apply(const std::shared_ptr<const Program>& program, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& seeds = {});

}  // namespace lamella::fusion
