#include "engine/autograd/graph/view_geometry.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/in_place.h"
#include "ops/index/index.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/part.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "tests/cpp/engine/autograd/support.h"
#include "tests/cpp/gradcheck.h"

// Tests views and writes in place: see Note [Views] in meta.h. Random programs of both are in
// tests/python/autograd/test_views.py.

namespace lamella::test {
namespace {

using autograd::backward;
using lamella::testing::expect_error;
using lamella::testing::sample;

std::vector<double> doubles(const Tensor& x) { return lamella::testing::values<double>(x); }

void expect_near(const Tensor& got, const Tensor& wanted, const char* what) {
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  const std::vector<double> a = doubles(got);
  const std::vector<double> b = doubles(wanted);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << what << ", element " << i;
}

struct ViewCase {
  const char* name;
  std::function<Tensor(const Tensor&)> view;
};

/// Returns views of a tensor of shape [3, 4].
const std::vector<ViewCase>& view_cases() {
  static const std::vector<ViewCase> cases{
      {"row", [](const Tensor& x) { return index(x, {1}); }},
      {"every other column",
       [](const Tensor& x) { return index(x, {Slice{}, Slice{std::nullopt, std::nullopt, -2}}); }},
      {"transposed", [](const Tensor& x) { return matrix_transpose(x); }},
      {"reshaped", [](const Tensor& x) { return reshape(x, {2, 6}); }},
      {"part of a split", [](const Tensor& x) { return split(x, Dims{1, 3}, 1)[1]; }},
      {"view of a view", [](const Tensor& x) { return index(matrix_transpose(x), {Slice{1, 3}, 2}); }},
      {"empty", [](const Tensor& x) { return index(x, {Slice{2, 2}}); }},
      {"0-d", [](const Tensor& x) { return index(x, {2, 3}); }},
  };
  return cases;
}

TEST(ViewsTest, AWriteIntoAViewIsAWriteIntoItsBase) {
  for (const ViewCase& c : view_cases()) {
    const Tensor a = sample({3, 4}).set_requires_grad(true);
    const Tensor base = multiply(a, 1.0);
    const Tensor sibling = index(base, {Slice{1, 3}});
    const Tensor view = c.view(base);
    mul_(view, 3);
    backward(sum(base * base) + sum(sibling));
    // Expects d/da of base² + sibling, with base = s a and s = 3 in the region of the view.
    const Tensor scale = ones({3, 4}, DType::Float64);
    fill_(c.view(scale), 3);
    const Tensor seen = zeros({3, 4}, DType::Float64);
    fill_(index(seen, {Slice{1, 3}}), 1);
    expect_near(a.grad(), (2 * scale * scale * a + seen * scale).detach(), c.name);
  }
}

TEST(ViewsTest, AViewFollowsAWriteIntoItsBase) {
  for (const ViewCase& c : view_cases()) {
    const Tensor a = sample({3, 4}).set_requires_grad(true);
    const Tensor base = zeros({3, 4}, DType::Float64);
    const Tensor view = c.view(base);
    EXPECT_FALSE(view.requires_grad()) << c.name;
    copy_(base, a * a);
    EXPECT_TRUE(view.requires_grad()) << c.name;
    EXPECT_EQ(view.grad_fn()->name(), "view") << c.name;
    backward(sum(view * view));
    const Tensor inside = zeros({3, 4}, DType::Float64);
    fill_(c.view(inside), 1);
    expect_near(a.grad(), (2 * a * a * (2 * a) * inside).detach(), c.name);
  }
}

TEST(ViewsTest, PartsDifferentiateTwice) {
  for (const ViewCase& c : view_cases()) {
    const Tensor base = sample({3, 4});
    const autograd::ViewGeometry geometry(base, c.view(base));
    const auto take = [&](const std::vector<Tensor>& x) { return take_view(x[0] * x[0], geometry); };
    const auto clear = [&](const std::vector<Tensor>& x) { return clear_view(x[0] * x[0], geometry); };
    const auto place = [&](const std::vector<Tensor>& x) { return place_view(x[0] * x[0], geometry); };
    lamella::testing::expect_gradients(take, {sample({3, 4})});
    lamella::testing::expect_gradients(clear, {sample({3, 4})});
    lamella::testing::expect_gradients(place, {sample(geometry.shape)});
  }
}

TEST(ViewsTest, ABroadcastViewSumsWhatFallsOnOneElement) {
  const Tensor base = sample({2});
  const autograd::ViewGeometry geometry(base, broadcast_to(base, {3, 2}));
  EXPECT_EQ(doubles(place_view(ones({3, 2}, DType::Float64), geometry)), (std::vector<double>{3, 3}));
}

TEST(ViewsTest, PartsOfComplexNumbersLieBetweenRealOnes) {
  const Tensor numbers = ViewAsComplex::call(sample({3, 4, 2}));
  const autograd::ViewGeometry of_real(numbers, index(imag(numbers), {Slice{1, 3}}));
  EXPECT_TRUE(of_real.base_in_parts);
  EXPECT_EQ(of_real.base_shape, (Dims{3, 4, 2}));
  EXPECT_EQ(of_real.base_strides, (Dims{8, 2, 1}));
  EXPECT_EQ(of_real.strides, (Dims{8, 2}));
  EXPECT_EQ(of_real.offset, 9);
  const Tensor pairs = sample({2, 6, 2});
  const autograd::ViewGeometry of_complex(pairs, index(ViewAsComplex::call(pairs), {1, Slice{2, 4}}));
  EXPECT_TRUE(of_complex.view_in_parts);
  EXPECT_EQ(of_complex.shape, (Dims{2, 2}));
  EXPECT_EQ(of_complex.strides, (Dims{2, 1}));
  EXPECT_EQ(of_complex.offset, 16);

  EXPECT_EQ(take_view(numbers, of_real).dtype(), DType::Float64);
  EXPECT_EQ(clear_view(numbers, of_real).dtype(), DType::Complex128);
  EXPECT_EQ(place_view(sample({2, 4}), of_real).shape(), (Dims{3, 4}));
  EXPECT_EQ(take_view(pairs, of_complex).dtype(), DType::Complex128);
  EXPECT_EQ(place_view(take_view(pairs, of_complex), of_complex).shape(), (Dims{2, 6, 2}));
  for (const autograd::ViewGeometry* geometry : {&of_real, &of_complex}) {
    const Tensor base = geometry->base_in_parts ? numbers : pairs;
    const Tensor part = take_view(base, *geometry).detach();
    lamella::testing::expect_gradients([&](const auto& x) { return take_view(x[0] * x[0], *geometry); }, {base});
    lamella::testing::expect_gradients([&](const auto& x) { return clear_view(x[0] * x[0], *geometry); }, {base});
    lamella::testing::expect_gradients([&](const auto& x) { return place_view(x[0] * x[0], *geometry); }, {part});
  }
}

TEST(ViewsTest, ALeafFollowsNoBase) {
  const Tensor base = zeros({2});
  const Tensor view = index(base, {Slice{0, 1}});
  view.set_requires_grad(true);
  const Tensor w = leaf({1, 2});
  expect_error<RuntimeError>([&] { copy_(base, w); }, "is a leaf that wants a gradient");
  expect_error<RuntimeError>([&] { fill_(base, 3); }, "is a leaf that wants a gradient");
  const autograd::NoGrad off;
  copy_(base, w);
  EXPECT_TRUE(view.is_leaf());
  EXPECT_TRUE(view.requires_grad());
  const autograd::EnableGrad on;
  expect_error<RuntimeError>([&] { add_(view, 1); }, "a leaf tensor");
}

TEST(ViewsTest, ThreadsMayAskForTheSameViewAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const Tensor w = leaf({1, 2, 3, 4});
    const Tensor base = zeros({4});
    const Tensor view = index(base, {Slice{1, 3}});
    copy_(base, w * w);
    std::vector<std::thread> threads;
    std::vector<Ref<Node>> seen(4);
    for (std::size_t i = 0; i < seen.size(); ++i) threads.emplace_back([&, i] { seen[i] = view.grad_fn(); });
    for (std::thread& thread : threads) thread.join();
    for (const Ref<Node>& node : seen) EXPECT_EQ(node, seen[0]);
    EXPECT_TRUE(seen[0]);
  }
}

}  // namespace
}  // namespace lamella::test
