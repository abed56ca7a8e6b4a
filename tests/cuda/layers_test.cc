#include "tests/cuda/support.h"

#include "ops/index/rows.h"

// Tests softmax, picking rows, random numbers, and users' layers on CUDA.

namespace lamella::test {
namespace {

class Layers : public Cuda {};

TEST_F(Layers, SoftmaxAgreesWithTheCpu) {
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    for (const Dims& shape : {Dims{5, 3}, Dims{1, 1}, Dims{300, 10}, Dims{2, 5000}, Dims{4, 3, 33}}) {
      const Tensor x = sample(shape, dtype, -20, 20, 1);
      std::vector<std::vector<Tensor>> results;
      for (const Device device : {kCPU, kGpu}) {
        const Tensor moved = to_device(x, device).detach().set_requires_grad(true);
        const Tensor y = softmax(moved);
        const Tensor z = log_softmax(moved);
        autograd::backward(sum(y * y + sin(z)));
        results.push_back({y.detach(), z.detach(), moved.grad()});
      }
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(agree(results[1][i], results[0][i], 10 * tolerance(dtype))) << describe(x) << i;
    }
  }
}

TEST_F(Layers, SoftmaxOfInfinitiesAgreesWithTheCpu) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float given[] = {-kInfinity, 1, 2, -kInfinity, -kInfinity, -kInfinity, kInfinity, 0, 1, std::nanf(""), 0, 1};
  Tensor x = empty({4, 3});
  std::copy(std::begin(given), std::end(given), x.data<float>());
  EXPECT_TRUE(agree(softmax(to_device(x, kGpu)), softmax(x)));
  EXPECT_TRUE(agree(log_softmax(to_device(x, kGpu)), log_softmax(x)));
}

Tensor row_numbers(std::int64_t count, std::int64_t rows) {
  return sample({count}, DType::Int64, 0, static_cast<double>(rows - 1), 5);
}

TEST_F(Layers, RowsAreGathered) {
  for (const DType dtype : {DType::Bool, DType::Int16, DType::Float32, DType::Float64, DType::Complex128}) {
    const Tensor x = sample({11, 7}, dtype, 0, 50, 1);
    const Tensor rows = row_numbers(40, 11);
    const Tensor actual = to_device(gather_rows(to_device(x, kGpu), to_device(rows, kGpu)), kCPU);
    EXPECT_TRUE(agree(actual, gather_rows(x, rows), 0)) << dtype;
  }
}

TEST_F(Layers, RowsAreScatteredAlikeInEveryRun) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Float32, DType::Float64}) {
    for (const std::int64_t width : {1, 9}) {
      const Tensor x = sample({3000, width}, dtype, -50, 50, 1);
      const Tensor rows = row_numbers(3000, 13);
      const auto scatter = [&] { return scatter_rows(to_device(x, kGpu), to_device(rows, kGpu), 20); };
      const Tensor actual = scatter();
      EXPECT_TRUE(agree(actual, scatter_rows(x, rows, 20), 10 * tolerance(dtype))) << dtype << " " << width;
      EXPECT_TRUE(agree(scatter(), actual, 0)) << dtype << " " << width;
    }
  }
}

TEST_F(Layers, RandomNumbersHaveTheBitsOfTheCpu) {
  for (const std::int64_t n : {1, 7, 100003}) {
    const auto draw = [&](Device device) {
      seed(11);
      return std::vector<Tensor>{rand({n}, DType::Float32, device),
                                 uniform({n}, -3, 5, DType::Float32, device),
                                 rand({n}, DType::Float64, device),
                                 uniform({n}, -3, 5, DType::Float64, device),
                                 randint(-5, 1000, {n}, DType::Int64, device),
                                 randint(0, 200, {n}, DType::UInt8, device)};
    };
    const auto expected = draw(kCPU);
    const auto actual = draw(kGpu);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(agree(actual[i], expected[i], 0)) << i << " of " << n;
  }
}

TEST_F(Layers, NormalNumbersAgreeWithTheCpu) {
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    seed(12);
    const Tensor expected = normal({100001}, 1, 2, dtype, kCPU);
    seed(12);
    EXPECT_TRUE(agree(normal({100001}, 1, 2, dtype, kGpu), expected));
  }
}

/// y = x^3, a layer as users write it.
struct Cube : Function<Cube> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * x * x;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return dy * 3 * x * x;
  }
};

TEST_F(Layers, AFunctionOfTheUsersRunsOnCuda) {
  const Tensor x = to_device(sample({100}, DType::Float64, -2, 2, 1), kGpu).set_requires_grad(true);
  const Tensor y = Cube::apply(x);
  EXPECT_TRUE(y.device().is_cuda());
  const Tensor first = autograd::grad({sum(y)}, {x}, {.create_graph = true})[0];
  EXPECT_TRUE(agree(first.detach(), to_device(x.detach() * x.detach() * 3, kCPU)));
  EXPECT_TRUE(agree(autograd::grad({sum(first)}, {x})[0], to_device(x.detach() * 6, kCPU)));
}

TEST_F(Layers, ASmallNetworkTrainsAsOnTheCpu) {
  std::vector<Tensor> trained;
  for (const Device device : {kCPU, kGpu}) {
    const Tensor input = to_device(sample({32, 8}, DType::Float64, -1, 1, 1), device);
    const Tensor target = to_device(sample({32, 3}, DType::Float64, 0, 1, 2), device);
    const Tensor w1 = to_device(sample({8, 16}, DType::Float64, -0.5, 0.5, 3), device).set_requires_grad(true);
    const Tensor w2 = to_device(sample({16, 3}, DType::Float64, -0.5, 0.5, 4), device).set_requires_grad(true);
    for (int step = 0; step < 20; ++step) {
      const Tensor error = matmul(tanh(matmul(input, w1)), w2) - target;
      autograd::backward(mean(error * error));
      const autograd::NoGrad no_grad;
      for (const Tensor& w : {w1, w2}) {
        sub_(w, w.grad() * 0.1);
        w.set_grad({});
      }
    }
    trained.push_back(w2.detach());
  }
  EXPECT_TRUE(agree(trained[1], trained[0], 1e-9));
}

}  // namespace
}  // namespace lamella::test
