#include "ops/fusion/outputs.h"

#include "ops/creation/creation.h"

namespace lamella::fusion {

Outputs make_outputs(const Program& program, std::span<const Tensor> inputs, const Dims& shape, DType dtype,
                     Device device) {
  Outputs outputs{.all = {}, .of_register = std::vector<Tensor>(program.registers.size())};
  for (const int output : program.outputs) {
    if (output < 0) {
      outputs.all.emplace_back();
      continue;
    }
    const auto r = static_cast<std::size_t>(output);
    const Register& one = program.registers[r];
    if (one.kind == Register::Kind::Input) {
      const Tensor& x = inputs[static_cast<std::size_t>(one.index)];
      outputs.all.push_back(x.shape() == shape ? x : make_view(x, shape, Dims(shape.size(), 0)));
      continue;
    }
    Tensor& made = outputs.of_register[r];
    if (!made.defined()) made = empty(shape, one.mask ? DType::Bool : dtype, device);
    outputs.all.push_back(made);
  }
  return outputs;
}

}  // namespace lamella::fusion
