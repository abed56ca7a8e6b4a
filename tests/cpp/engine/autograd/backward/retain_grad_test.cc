#include <gtest/gtest.h>

#include <thread>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/place.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests gradients retained for results of operations, and what becomes of them when the result is rebased.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::detach_in_place;
using autograd::register_hook;
using autograd::retain_grad;
using autograd::retains_grad;

/// x * x / 2: the gradient is x itself, and its graph leads to x's node without owning x.
struct HalfSquare : Function<HalfSquare> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * x * 0.5;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return dy * x;
  }
};

TEST(RetainGradTest, AddsUpOverPassesAndStaysOutOfTheWay) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  EXPECT_FALSE(retains_grad(h));
  retain_grad(h);
  retain_grad(h);
  EXPECT_TRUE(retains_grad(h));
  backward(h * 5, {}, true);
  backward(h * 5, {}, true);
  EXPECT_EQ(values(h.grad()), Values{10});
  EXPECT_EQ(values(x.grad()), Values{30});
  h.set_grad({});
  backward(h * 5);
  EXPECT_EQ(values(h.grad()), Values{5});
}

TEST(RetainGradTest, IsATensorOfItsOwn) {
  struct Overwrites : Function<Overwrites> {
    static Tensor forward(Context&, const Tensor& x) { return x * 1; }
    static Tensor backward(Context&, const Tensor& dy) { return mul_(dy, 7); }
  };
  const Tensor x = leaf(1);
  const Tensor h = Overwrites::apply(x);
  retain_grad(h);
  backward(h * 2);
  EXPECT_EQ(values(h.grad()), Values{2});
  EXPECT_EQ(values(x.grad()), Values{14});
}

TEST(RetainGradTest, OfALeafIsNothingAndOfAConstantAnError) {
  const Tensor x = leaf(1);
  retain_grad(x);
  EXPECT_FALSE(retains_grad(x));
  EXPECT_THROW(retain_grad(scalar(1)), RuntimeError);
}

TEST(RetainGradTest, MakesNoCycleWithTheGradientsOwnGraph) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  retain_grad(h);
  backward(HalfSquare::apply(h), {}, false, /*create_graph=*/true);
  EXPECT_EQ(values(h.grad()), Values{6});
  EXPECT_EQ(values(autograd::grad({h.grad()}, {x})[0]), Values{3});
  x.set_grad({});  // a leaf's gradient with a graph does form a cycle: break it
}

TEST(RetainGradTest, FollowsAWriteInPlace) {
  const Tensor x = leaf(2);
  const Tensor h = x * 1;
  retain_grad(h);
  mul_(h, 10);
  backward(h * 3);
  EXPECT_EQ(values(h.grad()), Values{3}) << "of the value that it is now";
  EXPECT_EQ(values(x.grad()), Values{30});
}

TEST(RetainGradTest, FollowsAViewWhoseBaseIsWrittenTo) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 1;
  const Tensor v = index(h, {Slice{1, 2}});
  retain_grad(v);
  mul_(h, 10);
  EXPECT_TRUE(retains_grad(v));
  backward(sum(v) * 3);
  EXPECT_EQ(values(v.grad()), Values{3});
  EXPECT_EQ(values(x.grad()), (Values{0, 30}));
}

TEST(RetainGradTest, BecomesTheGradientOfALeaf) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  retain_grad(h);
  backward(h * 5);
  detach_in_place(h);
  EXPECT_TRUE(h.is_leaf());
  EXPECT_FALSE(h.requires_grad());
  EXPECT_FALSE(retains_grad(h));
  EXPECT_EQ(values(h.grad()), Values{5});
  h.set_requires_grad(true);
  backward(h * 2);
  EXPECT_EQ(values(h.grad()), Values{7});

  const Tensor filled = x * 3;
  retain_grad(filled);
  fill_(filled, 4);  // no longer computed from x
  filled.set_requires_grad(true);
  backward(filled * 2);
  EXPECT_EQ(values(filled.grad()), Values{2});
}

TEST(RetainGradTest, OnSeveralThreadsLosesNothing) {
  const Tensor x = leaf(1);
  const Tensor h = x * 2;
  retain_grad(h);
  constexpr int kThreads = 4;
  constexpr int kPasses = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPasses; ++i) backward(h * 1, {}, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values(h.grad()), Values{kThreads * kPasses});
}

TEST(DetachInPlaceTest, LeavesEarlierResultsWithTheirGradient) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  const Tensor y = h * 5;
  detach_in_place(h);
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{15});
  EXPECT_FALSE((h * 2).requires_grad());
  detach_in_place(x);
  EXPECT_FALSE(x.requires_grad());
}

TEST(DetachInPlaceTest, RefusesAView) {
  const Tensor h = leaf({1, 2}) * 1;
  const Tensor v = index(h, {Slice{0, 1}});
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { detach_in_place(v); }), "[detach_] a view"));
}

}  // namespace
}  // namespace lamella::test
