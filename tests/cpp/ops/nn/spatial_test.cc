#include <gtest/gtest.h>

#include "ops/elementwise/list.h"
#include "ops/nn/conv.h"
#include "ops/nn/norm.h"
#include "ops/nn/pool.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "tests/cpp/gradcheck.h"

// Tests convolution, pooling and normalization; tests/python/ops compares their values with numpy's.

namespace lamella::testing {
namespace {

using Tensors = std::vector<Tensor>;

/// Checks first derivatives in both modes and for batches of gradients, and second ones.
void expect_all_gradients(const DifferentiableFunction& f, const Tensors& inputs) {
  expect_gradients(f, inputs);
  Tensors leaves;
  for (const Tensor& x : inputs) leaves.push_back(clone(x).set_requires_grad(true));
  autograd::GradcheckOptions options;
  options.check_batched_grad = options.check_forward_ad = true;
  const auto result = autograd::gradcheck(
      [&](std::span<const Tensor> args) { return Tensors{f({args.begin(), args.end()})}; }, leaves, options);
  if (!result) ADD_FAILURE() << result.message;
}

/// Checks that results and gradients in float32 are close to those in float64, which other kernels compute.
void expect_close_in_float(const DifferentiableFunction& f, const Tensors& inputs, double tolerance) {
  Tensors exact;
  for (const DType dtype : {DType::Float64, DType::Float32}) {
    Tensors leaves;
    for (const Tensor& x : inputs) leaves.push_back(astype(x, dtype).detach().set_requires_grad(true));
    const Tensor y = f(leaves);
    EXPECT_EQ(y.dtype(), dtype);
    Tensors results{y};
    const Tensor seed = cast(cos(arange(0, Scalar(y.numel()), 1, DType::Float64)), dtype);
    autograd::backward(sum(y * reshape(seed, y.shape())));
    for (const Tensor& leaf : leaves) results.push_back(leaf.grad());
    if (dtype == DType::Float64) {
      exact = results;
      continue;
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double distance = values<double>(max(abs(cast(results[i], DType::Float64) - exact[i])))[0];
      EXPECT_LE(distance, tolerance * (1 + values<double>(max(abs(exact[i])))[0])) << "tensor " << i;
    }
  }
}

Tensor strided(const Tensors& in) { return conv<2>(in[0], in[1], in[2], {2, 1}, Padding(Dims{1, 0}), {1, 2}); }
Tensor grouped(const Tensors& in) { return conv<2>(in[0], in[1], std::nullopt, {1}, 1, {1}, 2); }
Tensor transposed(const Tensors& in) { return conv_transpose<1>(in[0], in[1], in[2], {3}, {1}, {2}); }

TEST(Conv, Gradients) {
  expect_all_gradients(strided, {sample({2, 2, 4, 4}), sample({3, 2, 2, 2}, 2.0, 2), sample({3}, 2.0, 3)});
  expect_all_gradients(grouped, {sample({1, 2, 3, 3}), sample({4, 1, 2, 2}, 2.0, 2)});
  expect_all_gradients(transposed, {sample({2, 2, 3}), sample({2, 2, 3}, 2.0, 2), sample({2}, 2.0, 3)});
  expect_all_gradients([](const Tensors& in) { return conv<1>(in[0], in[0], std::nullopt, {1}, 2); },
                       {sample({2, 2, 3})});
}

TEST(Conv, FloatAgreesWithDouble) {
  expect_close_in_float(strided, {sample({3, 17, 20, 13}), sample({33, 17, 3, 2}, 2.0, 2), sample({33}, 2.0, 3)}, 1e-5);
  expect_close_in_float(grouped, {sample({2, 32, 9, 9}), sample({64, 16, 3, 3}, 2.0, 2)}, 1e-5);
  expect_close_in_float(transposed, {sample({2, 5, 9}), sample({5, 20, 4}, 2.0, 2), sample({20}, 2.0, 3)}, 1e-5);
}

TEST(Conv, Errors) {
  expect_error<ValueError>([] { conv<2>(sample({1, 3, 4, 4}), sample({2, 2, 3, 3})); }, "[conv2d] weight must have");
  expect_error<ValueError>([] { conv<1>(sample({1, 1, 2}), sample({1, 1, 3})); }, "does not fit into axis 2");
}

TEST(Pool, Gradients) {
  expect_all_gradients([](const Tensors& in) { return max_pool<2>(in[0], {3, 2}, Dims{2, 1}, {1, 0}); },
                       {sample({1, 2, 5, 4})});
  expect_all_gradients([](const Tensors& in) { return avg_pool<2>(square(in[0]), {2}, Dims{1}, {1}, false, false); },
                       {sample({1, 2, 3, 3})});
  expect_all_gradients([](const Tensors& in) { return adaptive_avg_pool<3>(square(in[0]), {1, 2, 3}); },
                       {sample({1, 2, 3, 4})});
  expect_all_gradients([](const Tensors& in) { return adaptive_max_pool<1>(in[0], {3}); }, {sample({2, 1, 4})});
}

TEST(Pool, Values) {
  const Tensor x = arange(0, 16, 1, DType::Float32);
  EXPECT_EQ(values<float>(max_pool<2>(reshape(x, {1, 4, 4}), {2})), (std::vector<float>{5, 7, 13, 15}));
  EXPECT_EQ(values<float>(avg_pool<1>(reshape(x, {1, 16}), {4})), (std::vector<float>{1.5, 5.5, 9.5, 13.5}));
  EXPECT_EQ(values<float>(adaptive_avg_pool<2>(reshape(x, {1, 4, 4}), {std::nullopt, 1})),
            (std::vector<float>{1.5, 5.5, 9.5, 13.5}));
}

TEST(Norm, Gradients) {
  const Tensors of_channels{sample({3, 4, 2}), sample({4}, 2.0, 2), sample({4}, 2.0, 3)};
  expect_all_gradients([](const Tensors& in) { return layer_norm(in[0], {4}, in[1], in[2]); },
                       {sample({3, 4}), sample({4}, 2.0, 2), sample({4}, 2.0, 3)});
  expect_all_gradients([](const Tensors& in) { return rms_norm(in[0], {4}, in[1]); },
                       {sample({3, 4}), sample({4}, 2.0, 2)});
  expect_all_gradients([](const Tensors& in) { return group_norm(in[0], 2, in[1], in[2]); }, of_channels);
  expect_all_gradients([](const Tensors& in) { return instance_norm(in[0], in[1]); },
                       {sample({2, 2, 3}), sample({2}, 2.0, 2)});
  expect_all_gradients(
      [](const Tensors& in) { return batch_norm(in[0], std::nullopt, std::nullopt, in[1], in[2], true); }, of_channels);
  expect_all_gradients([](const Tensors& in) { return batch_norm(in[0], in[2], square(in[1]) + 1, in[1]); },
                       of_channels);
}

TEST(Norm, FloatAgreesWithDouble) {
  expect_close_in_float([](const Tensors& in) { return layer_norm(in[0], {700}, in[1], in[2]); },
                        {sample({90, 700}), sample({700}, 2.0, 2), sample({700}, 2.0, 3)}, 1e-5);
  expect_close_in_float([](const Tensors& in) { return group_norm(in[0], 3, in[1], in[2]); },
                        {sample({4, 6, 50, 30}), sample({6}, 2.0, 2), sample({6}, 2.0, 3)}, 1e-5);
  expect_close_in_float(
      [](const Tensors& in) { return batch_norm(in[0], std::nullopt, std::nullopt, in[1], in[2], true); },
      {sample({4, 6, 50, 30}), sample({6}, 2.0, 2), sample({6}, 2.0, 3)}, 1e-5);
}

TEST(Norm, RunningStatistics) {
  const Tensor mean = zeros(Dims{2});
  const Tensor variance = ones(Dims{2});
  const Tensor x = tensor_of<float>({1, 3, 2, 2, 5, 7, 8, 8}, {2, 2, 2});
  batch_norm(x, mean, variance, std::nullopt, std::nullopt, true, 0.5);
  EXPECT_EQ(values<float>(mean), (std::vector<float>{2, 2.5}));
  EXPECT_FLOAT_EQ(values<float>(variance)[1], 0.5F + 0.5F * 12.0F);
}

}  // namespace
}  // namespace lamella::testing
