#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Matmul : public Cuda {};

void check(const Tensor& a, const Tensor& b, const Tensor& gpu_a, const Tensor& gpu_b) {
  EXPECT_TRUE(agree(matmul(gpu_a, gpu_b), matmul(a, b), 10 * tolerance(a.dtype())))
      << describe(a) << " @ " << describe(b);
}

/// Compares the product for all four layouts of the matrices: as they are, and as transposes of transposed copies.
void check_all_layouts(const Tensor& a, const Tensor& b) {
  const Tensor gpu_a = to_device(a, kGpu);
  const Tensor gpu_b = to_device(b, kGpu);
  const auto turned = [](const Tensor& x) {
    return x.ndim() < 2 ? x : matrix_transpose(contiguous(matrix_transpose(x)));
  };
  check(a, b, gpu_a, gpu_b);
  check(a, b, turned(gpu_a), gpu_b);
  check(a, b, gpu_a, turned(gpu_b));
  check(a, b, turned(gpu_a), turned(gpu_b));
}

TEST_F(Matmul, AgreesWithTheCpu) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Float32, DType::Float64}) {
    const auto make = [&](const Dims& shape, std::uint64_t seed) { return sample(shape, dtype, -4, 4, seed); };
    check_all_layouts(make({5, 7}, 1), make({7, 3}, 2));
    check_all_layouts(make({64, 33}, 1), make({33, 70}, 2));
    check_all_layouts(make({1, 7}, 1), make({7, 3}, 2));
    check_all_layouts(make({5, 7}, 1), make({7, 1}, 2));
    check_all_layouts(make({5, 1}, 1), make({1, 3}, 2));
    check_all_layouts(make({1, 1}, 1), make({1, 1}, 2));
    check_all_layouts(make({7}, 1), make({7}, 2));
    check_all_layouts(make({4, 5, 7}, 1), make({4, 7, 3}, 2));
    check_all_layouts(make({4, 5, 7}, 1), make({7, 3}, 2));
    check_all_layouts(make({5, 7}, 1), make({4, 7, 3}, 2));
    check_all_layouts(make({2, 1, 5, 7}, 1), make({3, 7, 4}, 2));
    check_all_layouts(make({2, 3, 4, 5}, 1), make({2, 1, 5, 6}, 2));
  }
}

TEST_F(Matmul, MatricesWithGapsAreCopied) {
  const Tensor base = sample({2, 12, 10}, DType::Float32, -1, 1, 1);
  const Tensor gpu = to_device(base, kGpu);
  // Strided along both axes.
  const auto gaps = [](const Tensor& x) { return make_view(x, Dims{2, 6, 5}, Dims{120, 20, 2}, 1); };
  const Tensor right = sample({5, 3}, DType::Float32, -1, 1, 2);
  check(gaps(base), right, gaps(gpu), to_device(right, kGpu));
  // Rows that share one row's memory.
  const Tensor row = sample({1, 5}, DType::Float32, -1, 1, 3);
  check(broadcast_to(row, Dims{4, 5}), right, broadcast_to(to_device(row, kGpu), Dims{4, 5}), to_device(right, kGpu));
}

TEST_F(Matmul, AnEmptyInnerAxisGivesZeros) {
  const Tensor y = matmul(empty({3, 0}, DType::Float32, kGpu), empty({0, 2}, DType::Float32, kGpu));
  EXPECT_EQ(values(y), std::vector<double>(6, 0.0));
}

TEST_F(Matmul, GradientsAgreeWithTheCpu) {
  const Tensor a = sample({3, 5, 7}, DType::Float64, -1, 1, 1);
  const Tensor b = sample({7, 4}, DType::Float64, -1, 1, 2);
  std::vector<std::vector<Tensor>> grads;
  for (const Device device : {kCPU, kGpu}) {
    const Tensor left = to_device(a, device).detach().set_requires_grad(true);
    const Tensor right = to_device(b, device).detach().set_requires_grad(true);
    autograd::backward(sum(tanh(matmul(left, right))));
    grads.push_back({left.grad(), right.grad()});
  }
  EXPECT_TRUE(agree(grads[1][0], grads[0][0]));
  EXPECT_TRUE(agree(grads[1][1], grads[0][1]));
}

}  // namespace
}  // namespace lamella::test
