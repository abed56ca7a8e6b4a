#include <lamella/lamella.h>

#include <cmath>
#include <iostream>

using lamella::Context;
using lamella::Tensor;

struct Cube : lamella::Function<Cube> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * x * x;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    auto [x] = ctx.saved_tensors<1>();
    return 3 * x * x * dy;
  }
};

// outside [instruction set]: runs a layer of its own and some operators, forward and backward, and names the kernels.
int main(int argc, char** argv) {
  Tensor x = lamella::full({4, 40}, 0.5);
  x.set_requires_grad(true);
  Tensor loss =
      lamella::sum(Cube::apply(x)) + lamella::sum(lamella::tanh(lamella::matmul(x, lamella::permute_dims(x, {1, 0}))));
  lamella::autograd::backward(loss);

  // d/dx of sum(x^3) is 3 x^2; each x meets 4 rows of 40 halves twice in tanh(x x'), whose argument is 10.
  const double expected = 3 * 0.25 + 2 * 4 * 0.5 * (1 - std::tanh(10.0) * std::tanh(10.0));
  const float gradient = x.grad().data<float>()[159];
  if (std::abs(gradient - expected) > 1e-4) {
    std::cerr << "the gradient is " << gradient << ", not " << expected << "\n";
    return 1;
  }
  const std::string kernels(lamella::cpu::instruction_set());
  std::cout << "gradient " << gradient << " from the kernels for " << kernels << "\n";
  if (argc > 1 && kernels != argv[1]) {
    std::cerr << "expected the kernels for " << argv[1] << "\n";
    return 1;
  }
  return 0;
}
