#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Scans : public Cuda {};

/// Rows and columns: short ones, and ones of a few tiles.
const Dims kShapes[] = {{1}, {37}, {2, 1030}, {30, 7}, {2, 0}};
/// Rows and columns that are cut into chunks.
const Dims kLongShapes[] = {{2, 20003}, {9001, 3}};

/// Calls f(a tensor, its copy on the device, an axis).
template <class F>
void for_each_axis(DType dtype, double low, double high, F&& f) {
  const auto run = [&](const Dims& shape) {
    const Tensor x = sample(shape, dtype, low, high, 1);
    const Tensor gpu = to_device(x, kGpu);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) f(x, gpu, static_cast<std::int64_t>(axis));
  };
  for (const Dims& shape : kShapes) run(shape);
  if (dtype == DType::Float32) {
    for (const Dims& shape : kLongShapes) run(shape);
  }
}

TEST_F(Scans, SumsAndProductsAgreeWithTheCpuInEveryDtype) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const double allowed = 4 * tolerance(dtype);
    const bool fraction = is_floating(dtype);
    for_each_axis(dtype, fraction ? -1 : 0, fraction ? 1 : 9, [&](const Tensor& x, const Tensor& gpu, std::int64_t at) {
      EXPECT_TRUE(agree(cumulative_sum(gpu, at), cumulative_sum(x, at), allowed)) << describe(x);
      EXPECT_TRUE(agree(cumulative_prod(gpu, at), cumulative_prod(x, at), allowed)) << describe(x);
    });
  }
}

TEST_F(Scans, ExtremesAndTheirPositionsAgreeWithTheCpu) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_complex(dtype)) continue;
    for_each_axis(dtype, 0, 40, [&](const Tensor& x, const Tensor& gpu, std::int64_t at) {
      for (const auto scan : {CumMax::call, CumMin::call}) {
        const std::vector<Tensor> expected = scan(x, at);
        const std::vector<Tensor> actual = scan(gpu, at);
        EXPECT_TRUE(agree(actual[0], expected[0], 0)) << describe(x);
        EXPECT_TRUE(agree(actual[1], expected[1], 0)) << describe(x);
      }
    });
  }
}

TEST_F(Scans, NanReplacesEveryNumber) {
  Tensor x = sample({6000}, DType::Float32, -1, 1, 1);
  x.data<float>()[3210] = std::nanf("");
  x.data<float>()[4321] = std::nanf("");
  const Tensor gpu = to_device(x, kGpu);
  for (const auto scan : {CumMax::call, CumMin::call}) {
    for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(agree(scan(gpu, 0)[k], scan(x, 0)[k], 0));
  }
}

TEST_F(Scans, LogarithmsOfSumsAgreeWithTheCpu) {
  for (const DType dtype : {DType::Float16, DType::Float32}) {
    for_each_axis(dtype, -700, 700, [&](const Tensor& x, const Tensor& gpu, std::int64_t at) {
      EXPECT_TRUE(agree(logcumsumexp(gpu, at), logcumsumexp(x, at))) << describe(x);
    });
  }
}

TEST_F(Scans, ProductsBehindAZeroAreZero) {
  // The product of the elements behind the zero is beyond the range of a double.
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor zero = zeros({1}, dtype, kGpu);
    const Tensor x = concat({zero, full({5000}, 1e30, dtype, kGpu)}, 0);
    EXPECT_TRUE(agree(cumulative_prod(x), zeros({5001}, dtype)));
  }
}

TEST_F(Scans, GradientsAgreeWithTheCpu) {
  for (const Dims& shape : {Dims{9}, Dims{4, 3001}, Dims{3001, 4}}) {
    for (const auto scan :
         {+[](const Tensor& x) { return cumulative_prod(x, 0); }, +[](const Tensor& x) { return logcumsumexp(x, 0); },
          +[](const Tensor& x) { return cumulative_sum(x, 0); }, +[](const Tensor& x) { return cummax(x, 0)[0]; }}) {
      std::vector<Tensor> grads;
      for (const Device device : {kCPU, kGpu}) {
        Tensor host = sample(shape, DType::Float64, 0.5, 1.5, 1);
        host.data<double>()[host.numel() / 2] = 0;
        const Tensor x = to_device(host, device).set_requires_grad(true);
        autograd::backward(sum(scan(x) * to_device(sample(shape, DType::Float64, -1, 1, 2), device)));
        grads.push_back(x.grad());
      }
      EXPECT_TRUE(agree(grads[1], grads[0], 1e-9)) << shape[0];
    }
  }
}

TEST_F(Scans, HaveTheSameBitsInEveryRun) {
  const Tensor x = to_device(sample({2, 50001}, DType::Float32, -1, 1, 1), kGpu);
  const Tensor first = cumulative_sum(x, 1);
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(agree(cumulative_sum(x, 1), first, 0));
}

}  // namespace
}  // namespace lamella::test
