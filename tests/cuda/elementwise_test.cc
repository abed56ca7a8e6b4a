#include "tests/cuda/support.h"

#include "ops/elementwise/list.h"

// Compares every operator of ElementwiseOps on CUDA with the CPU, in all dtypes with kernels and all layouts of
// operands.

namespace lamella::test {
namespace {

class Elementwise : public Cuda {};

template <class Op>
Tensor call(const std::vector<Tensor>& x) {
  const ElementwiseOp& op = elementwise_op<Op>();
  if constexpr (Op::kInputs == 1) {
    return call_elementwise(op, x[0]);
  } else if constexpr (Op::kInputs == 2) {
    return call_elementwise(op, x[0], x[1]);
  } else if constexpr (Op::kInputs == 3) {
    return call_elementwise(op, x[0], x[1], x[2]);
  } else {
    return call_elementwise(op, x[0], x[1], x[2], x[3]);
  }
}

template <class Op>
Tensor operand(const Dims& shape, DType dtype, int i) {
  const DType own = Op::kMaskInput && i == 0 ? DType::Bool : dtype;
  return sample(shape, own, Op::info.sample_low, Op::info.sample_high, static_cast<std::uint64_t>(i) + 1);
}

/// Calls f with operands of each layout that kernels distinguish.
template <class Op, class F>
void for_each_layout(DType dtype, F&& f) {
  const auto make = [&](auto&& lay_out) {
    std::vector<Tensor> x;
    for (int i = 0; i < Op::kInputs; ++i) x.push_back(lay_out(i));
    f(x);
  };
  // Needs more than one block, and has a tail that no vector fills.
  make([&](int i) { return operand<Op>({2053}, dtype, i); });
  make([&](int i) { return operand<Op>({3}, dtype, i); });
  make([&](int i) { return operand<Op>({}, dtype, i); });
  // Unaligned to a vector.
  make([&](int i) { return make_view(operand<Op>({1030}, dtype, i), Dims{1025}, Dims{1}, i + 1); });
  // One operand transposed, the others not.
  make([&](int i) {
    return i == 0 ? permute_dims(operand<Op>({9, 5, 23}, dtype, i), {2, 0, 1}) : operand<Op>({23, 9, 5}, dtype, i);
  });
  // A row, a column and a whole matrix.
  make([&](int i) { return operand<Op>(i == 0 ? Dims{31, 40} : i == 1 ? Dims{40} : Dims{31, 1}, dtype, i); });
  // One element broadcast to all.
  make([&](int i) { return operand<Op>(i == 0 ? Dims{517} : Dims{1}, dtype, i); });
  make([&](int i) { return operand<Op>({0, 4}, dtype, i); });
}

std::vector<Tensor> to_gpu(const std::vector<Tensor>& x) {
  std::vector<Tensor> moved;
  for (const Tensor& t : x) {
    // A view keeps its strides: the storage is moved as a whole.
    moved.push_back(t.is_contiguous() ? to_device(t, kGpu)
                                      : permute_dims(to_device(permute_dims(t, {1, 2, 0}), kGpu), {2, 0, 1}));
  }
  return moved;
}

template <class Op>
void check_forward(DType dtype) {
  for_each_layout<Op>(dtype, [&](const std::vector<Tensor>& x) {
    const std::vector<Tensor> on_gpu = to_gpu(x);
    const Tensor actual = call<Op>(on_gpu);
    EXPECT_TRUE(actual.device().is_cuda());
    EXPECT_TRUE(agree(actual, call<Op>(x))) << Op::info.name << " of " << describe(x[0]);
  });
}

template <class Op>
void check_backward(DType dtype) {
  for_each_layout<Op>(dtype, [&](const std::vector<Tensor>& given) {
    std::vector<std::vector<Tensor>> grads;
    for (const Device device : {kCPU, kGpu}) {
      std::vector<Tensor> x;
      for (const Tensor& t : device.is_cpu() ? given : to_gpu(given)) {
        x.push_back(t.detach());
        if (t.dtype() != DType::Bool) x.back().set_requires_grad(true);
      }
      const Tensor y = call<Op>(x);
      const Tensor dy = sample(y.shape(), dtype, -1, 1, 7);
      autograd::backward(y, to_device(dy, device));
      auto& found = grads.emplace_back();
      for (const Tensor& t : x) found.push_back(t.grad());
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(grads[0][i].defined(), grads[1][i].defined());
      // The gradient of a broadcast operand is a sum of many terms.
      if (grads[0][i].defined()) {
        EXPECT_TRUE(agree(grads[1][i], grads[0][i], 10 * tolerance(dtype)))
            << Op::info.name << ", gradient " << i << " of " << describe(given[0]);
      }
    }
  });
}

TEST_F(Elementwise, ForwardAgreesWithTheCpu) {
  ElementwiseOps::for_each([]<class Op> {
    for (const DType dtype : {DType::Bool, DType::Int32, DType::Int64, DType::Float32, DType::Float64}) {
      if (Op::info.dtypes.contains(dtype)) check_forward<Op>(dtype);
    }
  });
}

TEST_F(Elementwise, BackwardAgreesWithTheCpu) {
  ElementwiseOps::for_each([]<class Op> {
    if (!elementwise_op<Op>().differentiable()) return;
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      if (Op::info.dtypes.contains(dtype)) check_backward<Op>(dtype);
    }
  });
}

TEST_F(Elementwise, SpecialValuesAgreeWithTheCpu) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{std::nan(""), kInfinity, -kInfinity, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30, -1e30};
  const auto n = static_cast<std::int64_t>(special.size());
  Tensor x = empty({n}, DType::Float64);
  std::copy(special.begin(), special.end(), x.data<double>());
  ElementwiseOps::for_each([&]<class Op> {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      if (!Op::info.dtypes.contains(dtype) || Op::kMaskInput) continue;
      const Tensor a = cast(x, dtype);
      // Operators of two operands get all pairs.
      std::vector<Tensor> operands{a};
      if (Op::kInputs > 1) operands = {expand_dims(a, 1), a, a, a};
      std::vector<Tensor> on_gpu;
      for (const Tensor& t : operands) on_gpu.push_back(to_device(t, kGpu));
      EXPECT_TRUE(agree(call<Op>(on_gpu), call<Op>(operands))) << Op::info.name << " " << dtype;
    }
  });
}

TEST_F(Elementwise, NumbersAndScalarsOfTheCpuGoAlong) {
  const Tensor x = sample({1027}, DType::Float32, -2, 2, 1);
  const Tensor gpu = to_device(x, kGpu);
  EXPECT_TRUE(agree(gpu * 2.5 + 1, x * 2.5 + 1));
  EXPECT_TRUE(agree(3 - gpu, 3 - x));
  EXPECT_TRUE(agree(where(gpu > 0, gpu, -1.0), where(x > 0, x, -1.0)));
  const Tensor scalar = full({}, 0.75, DType::Float32);
  EXPECT_TRUE(agree(gpu * scalar, x * scalar));
  EXPECT_TRUE((gpu * scalar).device().is_cuda());
  const Tensor matrix = permute_dims(to_device(sample({6, 7}, DType::Int64, -9, 9, 2), kGpu), {1, 0});
  EXPECT_TRUE(agree(matrix * 3, to_device(matrix, kCPU) * 3));
}

TEST_F(Elementwise, TheGradientOfAScalarOfTheCpuComesBackToTheCpu) {
  const Tensor x = to_device(sample({50}, DType::Float32, -1, 1, 1), kGpu);
  const Tensor scale = full({}, 2, DType::Float32).set_requires_grad(true);
  autograd::backward(sum(x * scale));
  ASSERT_TRUE(scale.grad().defined());
  EXPECT_TRUE(scale.grad().device().is_cpu());
  EXPECT_TRUE(agree(scale.grad(), to_device(sum(x), kCPU)));
}

TEST_F(Elementwise, SecondDerivativesAgreeWithTheCpu) {
  std::vector<Tensor> results;
  for (const Device device : {kCPU, kGpu}) {
    const Tensor x = to_device(sample({65}, DType::Float64, -1, 1, 3), device).set_requires_grad(true);
    const Tensor first = autograd::grad({sum(tanh(x * x))}, {x}, {.create_graph = true})[0];
    results.push_back(autograd::grad({sum(first)}, {x})[0]);
  }
  EXPECT_TRUE(agree(results[1], results[0]));
}

TEST_F(Elementwise, InPlaceUpdatesAgreeWithTheCpu) {
  for (const DType dtype : {DType::Int32, DType::Float32, DType::Float64}) {
    const Tensor x = sample({33, 20}, dtype, 1, 9, 1);
    const Tensor y = sample({20}, dtype, 1, 9, 2);
    const Tensor gpu = to_device(x, kGpu);
    const Tensor expected = clone(x);
    add_(gpu, to_device(y, kGpu));
    add_(expected, y);
    mul_(gpu, 2);
    mul_(expected, 2);
    sub_(gpu, gpu);
    sub_(expected, expected);
    EXPECT_TRUE(agree(gpu, expected));
  }
}

TEST_F(Elementwise, OperandsOnTwoDevicesAreAnError) {
  const Tensor a = full({3}, 1, DType::Float32, kGpu);
  const Tensor b = full({3}, 1, DType::Float32);
  const std::string message = message_of<RuntimeError>([&] { static_cast<void>(a + b); });
  EXPECT_NE(message.find("cuda:0 and cpu"), std::string::npos) << message;
}

TEST_F(Elementwise, ComplexNumbersAreComputed) {
  const Tensor x = full({3}, 1, DType::Complex64, kGpu);
  EXPECT_EQ((x + x).device(), kGpu);
}

}  // namespace
}  // namespace lamella::test
