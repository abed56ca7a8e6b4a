#include "ops/transforms/functional.h"

#include "engine/autograd/backward/backward.h"
#include "engine/core/allocator.h"
#include "engine/core/modes.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using autograd::JacobianOptions;
using autograd::TensorFunction;

using Values = std::vector<double>;

TensorFunction unary(Tensor (*f)(const Tensor&)) {
  return [f](std::span<const Tensor> x) { return std::vector<Tensor>{f(x[0])}; };
}

Tensor cubes(const Tensor& x) { return sum(multiply(multiply(x, x), x)); }

/// Returns x * y and the sum of x.
std::vector<Tensor> product_and_sum(std::span<const Tensor> x) { return {multiply(x[0], x[1]), sum(x[0])}; }

struct DerivativesTest : ::testing::Test {
  Tensor x = tensor_of<double>({1, 2, 3});
  Tensor y = tensor_of<double>({4, 5, 6});
  std::vector<Tensor> both{x, y};
  std::vector<Tensor> one{x};
};

TEST_F(DerivativesTest, JacobianHasABlockForEachOutputAndInput) {
  const auto j = autograd::jacobian(product_and_sum, both);
  ASSERT_EQ(j.size(), 2u);
  EXPECT_EQ(j[0][0].shape(), (Dims{3, 3}));
  EXPECT_EQ(values<double>(j[0][0]), (Values{4, 0, 0, 0, 5, 0, 0, 0, 6}));
  EXPECT_EQ(values<double>(j[0][1]), (Values{1, 0, 0, 0, 2, 0, 0, 0, 3}));
  EXPECT_EQ(j[1][0].shape(), (Dims{3}));
  EXPECT_EQ(values<double>(j[1][0]), (Values{1, 1, 1}));
  EXPECT_EQ(values<double>(j[1][1]), (Values{0, 0, 0}));
  EXPECT_FALSE(j[0][0].requires_grad());
}

TEST_F(DerivativesTest, JacobianOfNothingIsEmpty) {
  const auto j =
      autograd::jacobian(unary([](const Tensor& t) { return square(t); }), {{empty({0, 2}, DType::Float64)}});
  EXPECT_EQ(j[0][0].shape(), (Dims{0, 2, 0, 2}));
}

TEST_F(DerivativesTest, HessianAndItsProductsAgree) {
  const Tensor v = tensor_of<double>({1, -1, 2});
  const auto h = autograd::hessian(unary(cubes), one);
  EXPECT_EQ(values<double>(h[0][0]), (Values{6, 0, 0, 0, 12, 0, 0, 0, 18}));
  const auto [hvp_value, hvp] = autograd::hvp(unary(cubes), one, {{v}});
  const auto [vhp_value, vhp] = autograd::vhp(unary(cubes), one, {{v}});
  EXPECT_EQ(values<double>(hvp[0]), (Values{6, -12, 36}));
  EXPECT_EQ(values<double>(vhp[0]), (Values{6, -12, 36}));
  EXPECT_EQ(values<double>(hvp_value), (Values{36}));
  EXPECT_FALSE(hvp_value.requires_grad() || hvp[0].requires_grad() || vhp[0].requires_grad());
}

TEST_F(DerivativesTest, ResultsWithAGraphGoOn) {
  x.set_requires_grad(true);
  const auto h = autograd::hessian(unary(cubes), one, {.create_graph = true});
  EXPECT_EQ(values<double>(autograd::grad({sum(h[0][0])}, {x})[0]), (Values{6, 6, 6}));
  const auto [value, product] = autograd::hvp(unary(cubes), one, {{y}}, {.create_graph = true});
  EXPECT_EQ(values<double>(autograd::grad({sum(product[0])}, {x})[0]), (Values{24, 30, 36}));
}

TEST_F(DerivativesTest, AutomaticGraphsFollowWhatElseWantsAGradient) {
  const Tensor w = tensor_of<double>({2, 2, 2}).set_requires_grad(true);
  const TensorFunction with_w = [&](std::span<const Tensor> a) {
    return std::vector<Tensor>{sum(multiply(square(a[0]), w))};
  };
  const JacobianOptions automatic{.create_graph = std::nullopt};
  const auto j = autograd::jacobian(with_w, one, automatic);
  ASSERT_TRUE(j[0][0].requires_grad());
  EXPECT_EQ(values<double>(autograd::grad({sum(j[0][0])}, {w})[0]), (Values{2, 4, 6}));
  EXPECT_FALSE(autograd::jacobian(unary(cubes), one, automatic)[0][0].requires_grad());
  const autograd::NoGrad off;
  EXPECT_FALSE(autograd::jacobian(with_w, one, automatic)[0][0].requires_grad());
}

TEST_F(DerivativesTest, PullbacksMayBeCalledAgain) {
  const autograd::Vjp result = autograd::vjp(product_and_sum, both);
  EXPECT_EQ(values<double>(result.outputs[0]), (Values{4, 10, 18}));
  EXPECT_FALSE(result.outputs[0].requires_grad());
  const std::vector<Tensor> begin{tensor_of<double>({1, 1, 1}), full({}, 10.0, DType::Float64)};
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> grads = result.pullback(begin);
    EXPECT_EQ(values<double>(grads[0]), (Values{14, 15, 16}));
    EXPECT_EQ(values<double>(grads[1]), (Values{1, 2, 3}));
  }
  const std::vector<Tensor> second_only{Tensor(), full({}, 1.0, DType::Float64)};
  EXPECT_EQ(values<double>(result.pullback(second_only)[1]), (Values{0, 0, 0}));
  expect_error<ValueError>([&] { result.pullback(one); }, "[vjp] got 1 gradients for 2 outputs");
}

TEST_F(DerivativesTest, NestedPullbacksGiveSecondDerivatives) {
  const TensorFunction gradient = [](std::span<const Tensor> a) {
    const std::vector<Tensor> unit{ones({}, DType::Float64)};
    return autograd::vjp(unary(cubes), a).pullback(unit);
  };
  const autograd::Vjp second = autograd::vjp(gradient, one);
  EXPECT_EQ(values<double>(second.pullback({{ones({3}, DType::Float64)}})[0]), (Values{6, 12, 18}));
}

TEST_F(DerivativesTest, StrictNamesWhatIsIndependent) {
  const TensorFunction first = [](std::span<const Tensor> a) { return std::vector<Tensor>{square(a[0])}; };
  const TensorFunction linear = unary([](const Tensor& a) { return sum(a); });
  const TensorFunction constant = [&](std::span<const Tensor>) { return std::vector<Tensor>{clone(y)}; };
  expect_error<RuntimeError>([&] { autograd::jacobian(first, both, {.strict = true}); },
                             "output 0 does not depend on input 1");
  expect_error<RuntimeError>([&] { autograd::jacobian(constant, one, {.strict = true}); },
                             "output 0 of the function does not depend on the inputs");
  expect_error<RuntimeError>([&] { autograd::vhp(linear, one, one, {.strict = true}); }, "[vhp] strict=True");
  EXPECT_EQ(values<double>(autograd::vhp(linear, one, one).second[0]), (Values{0, 0, 0}));
  EXPECT_EQ(values<double>(autograd::hvp(linear, one, one).second[0]), (Values{0, 0, 0}));
}

TEST_F(DerivativesTest, MistakesAreNamed) {
  const TensorFunction squares = unary([](const Tensor& a) { return square(a); });
  expect_error<ValueError>([&] { autograd::hessian(squares, one); }, "[hessian] the function must return one tensor");
  expect_error<ValueError>([&] { autograd::hvp(unary(cubes), one, both); }, "[hvp] v has 2 tensors");
  expect_error<ValueError>([&] { autograd::hvp(unary(cubes), one, {}); }, "v can only be left out");
  expect_error<ValueError>([&] { autograd::jacobian(squares, {}); }, "needs at least one input");
  expect_error<ValueError>([&] { autograd::jacobian(squares, {{Tensor()}}); }, "input 0 is undefined");
  expect_error<TypeError>([&] { autograd::jacobian(squares, {{tensor_of<std::int64_t>({1})}}); },
                          "[jacobian] input 0 is int64[1]");
  expect_error<TypeError>([&] { autograd::jacobian([](auto) { return std::vector<Tensor>{}; }, one); },
                          "returned no tensor");
}

TEST_F(DerivativesTest, OneBatchedPassGivesTheSameJacobian) {
  const auto rows = autograd::jacobian(product_and_sum, both);
  const auto batched = autograd::jacobian(product_and_sum, both, {.vectorize = true});
  ASSERT_EQ(batched.size(), rows.size());
  for (std::size_t o = 0; o < rows.size(); ++o) {
    for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(values<double>(batched[o][i]), values<double>(rows[o][i]));
  }
}

TEST_F(DerivativesTest, ForwardModeGivesTheSameJacobian) {
  const auto reverse = autograd::jacobian(product_and_sum, both);
  const auto forward = autograd::jacobian(product_and_sum, both, {.strategy = autograd::JacobianStrategy::Forward});
  ASSERT_EQ(forward.size(), reverse.size());
  for (std::size_t o = 0; o < reverse.size(); ++o) {
    for (std::size_t i = 0; i < reverse[o].size(); ++i) {
      EXPECT_EQ(forward[o][i].shape(), reverse[o][i].shape());
      EXPECT_EQ(values<double>(forward[o][i]), values<double>(reverse[o][i]));
      EXPECT_FALSE(forward[o][i].requires_grad());
    }
  }
}

TEST_F(DerivativesTest, NothingIsLeftBehind) {
  const auto held = [] { return memory_stats(kCPU).allocated; };
  const auto use = [&] {
    autograd::jacobian(product_and_sum, both);
    autograd::hvp(unary(cubes), one, one);
    autograd::vjp(product_and_sum, both);
  };
  use();
  const std::int64_t before = held();
  use();
  EXPECT_EQ(held(), before);
  EXPECT_FALSE(x.grad().defined() || x.requires_grad());
  EXPECT_TRUE(autograd::is_grad_enabled());
}

}  // namespace
}  // namespace lamella::testing
