#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests that nothing leaks, nothing is freed too early, and no length of a graph overflows the stack.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

// Tensors that a layer keeps
// ---------------------------------------------------------------------------------------------------------------------

/// Expects that the node of the tensor that `make` returns dies with it.
void expect_freed(const std::function<Tensor()>& make) {
  for (const bool with_backward : {false, true}) {
    const NoLeak no_leak;
    WeakNode node;
    {
      const Tensor y = make();
      ASSERT_TRUE(y.requires_grad());
      node = WeakNode(y.grad_fn());
      if (with_backward) backward(sum(y));
      EXPECT_FALSE(node.expired());
    }
    EXPECT_TRUE(node.expired());
  }
}

/// Layer that keeps a tensor or state of its call in the context, chosen by `what`.
struct Keeper : Function<Keeper> {
  enum What { kInput, kOutput, kOutputView, kOutputTwice, kIntermediate, kData, kState };
  static Tensor forward(Context& ctx, const Tensor& x, What what) {
    const Tensor h = x * 2;
    Tensor y = h * h;
    switch (what) {
      case kInput:
        ctx.save_for_backward(x);
        break;
      case kOutput:
        ctx.save_for_backward(y);
        break;
      case kOutputView:
        ctx.save_for_backward(make_view(y, Dims{}, Dims{}), y);
        break;
      case kOutputTwice:
        ctx.save_for_backward(y, y);
        ctx.saved_data()["y"] = y;
        break;
      case kIntermediate:
        ctx.save_for_backward(h);
        break;
      case kData:
        ctx.saved_data()["output"] = y;
        ctx.saved_data()["closure"] = std::function<Tensor()>([y] { return y; });
        break;
      case kState:
        ctx.state<std::vector<Tensor>>() = {x, h, y, make_alias(y)};
        break;
    }
    return y;
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(LifetimeTest, WhatForwardKeepsDoesNotLeakTheGraph) {
  for (const auto what : {Keeper::kInput, Keeper::kOutput, Keeper::kOutputView, Keeper::kOutputTwice,
                          Keeper::kIntermediate, Keeper::kData, Keeper::kState}) {
    SCOPED_TRACE(what);
    expect_freed([=] { return Keeper::apply(leaf(3), what); });
    expect_freed([=] { return Keeper::apply(Keeper::apply(leaf(3) * 1, what), what); });
  }
}

TEST(LifetimeTest, AFailedCallLeavesNothing) {
  struct Fails : Function<Fails> {
    static Tensor forward(Context& ctx, const Tensor& x, bool late) {
      const Tensor y = x * 2;
      ctx.save_for_backward(x, y);
      ctx.saved_data()["y"] = y;
      if (late) ctx.mark_dirty(y);  // an error after forward, as y is not an input
      if (!late) throw std::runtime_error("early");
      return y;
    }
    static Tensor backward(Context&, const Tensor& dy) { return dy; }
  };
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  EXPECT_THROW(Fails::apply(x, false), std::runtime_error);
  EXPECT_THROW(Fails::apply(x, true), RuntimeError);
}

TEST(LifetimeTest, TheGraphLivesWhileAResultDoesAndInputsMayGo) {
  Tensor y;
  WeakNode inner;
  {
    const Tensor x = leaf(2);
    const Tensor h = Cube::apply(x);
    inner = WeakNode(h.grad_fn());
    y = h * 2;
  }
  EXPECT_FALSE(inner.expired());
  backward(y);
  y = Tensor();
  EXPECT_TRUE(inner.expired());
}

TEST(LifetimeTest, BackwardFreesWhatWasSavedAndKeepsTheRest) {
  const Tensor big = leaf(1) * ones({5000});
  const std::int64_t before = live_bytes();
  {
    const Tensor y = sum(Cube::apply(exp(big)));
    const std::int64_t recorded = live_bytes();
    EXPECT_GT(recorded - before, 20000) << "exp(big) is held";
    backward(y, {}, /*retain_graph=*/true);
    EXPECT_GE(live_bytes(), recorded);
    backward(y);
    EXPECT_LT(live_bytes() - before, 20000) << "only nodes are left";
  }
}

TEST(LifetimeTest, ALeafsGradientHoldsNoGraph) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  WeakNode node;
  {
    const Tensor y = Cube::apply(x);
    node = WeakNode(y.grad_fn());
    backward(y);
  }
  EXPECT_TRUE(x.grad().defined());
  EXPECT_TRUE(node.expired());
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(LifetimeTest, HigherDerivativesLeakNothing) {
  const NoLeak no_leak;
  for (int i = 0; i < 10; ++i) {
    const Tensor x = leaf(2);
    Tensor f = Cube::apply(exp(x)) * Keeper::apply(x, Keeper::kOutput);
    for (int order = 0; order < 3; ++order) f = grad({f}, {x}, {.create_graph = true})[0];
  }
}

TEST(LifetimeTest, AViewKeepsTheBytesAndNotTheGraph) {
  WeakNode node;
  Tensor view;
  {
    const Tensor y = Cube::apply(leaf({1, 2}));
    node = WeakNode(y.grad_fn());
    view = y.detach();
  }
  EXPECT_TRUE(node.expired());
  EXPECT_EQ(values(view), (Values{1, 8}));
}

TEST(LifetimeTest, MemoryIsTheSameAfterTenThousandGraphs) {
  const Tensor w = leaf({1, 2, 3, 4});
  const auto step = [&](bool with_backward) {
    const Tensor x = ones({4});
    const Tensor y = sum(Keeper::apply(Cube::apply(w * x), Keeper::kState));
    if (!with_backward) return;
    w.set_grad({});
    backward(y);
  };
  for (const bool with_backward : {true, false}) {
    for (int i = 0; i < 100; ++i) step(with_backward);
    const std::int64_t before = live_bytes();
    const std::int64_t reserved = memory_stats(kCPU).reserved;
    for (int i = 0; i < 10000; ++i) step(with_backward);
    EXPECT_EQ(live_bytes(), before);
    EXPECT_EQ(memory_stats(kCPU).reserved, reserved);
  }
}

// Long graphs
// ---------------------------------------------------------------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLong = 100'000;  // fewer under sanitizers, which need more memory
#else
constexpr int kLong = 1'000'000;
#endif

TEST(LongGraphTest, AChainOfOpsGoesBackwardAndIsFreed) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = y + 1;
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{1});
}

TEST(LongGraphTest, AChainOfLayersGoesBackwardAndIsFreed) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = Identity::apply(y);
  EXPECT_EQ(values(grad({y}, {x}, {.retain_graph = true})[0]), Values{1});
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{1});
}

TEST(LongGraphTest, AChainThatSavesIsFreedWithoutBackward) {
  // Each node is owned by the input that the next one saved, as well as by its edge.
  const NoLeak no_leak;
  Tensor y = leaf(0);
  for (int i = 0; i < kLong; ++i) y = Cube::apply(y);
}

TEST(LongGraphTest, AChainHeldByPlainDataIsFreed) {
  const NoLeak no_leak;
  Tensor y = leaf(0);
  for (int i = 0; i < kLong / 10; ++i) {
    struct Holds : Function<Holds> {
      static Tensor forward(Context& ctx, const Tensor& x) {
        ctx.state<Tensor>() = x;
        return x * 1;
      }
      static Tensor backward(Context&, const Tensor& dy) { return dy; }
    };
    y = Holds::apply(y);
  }
}

TEST(LongGraphTest, AWideGraphGoesBackward) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  Tensor total = x * 0;
  for (int i = 0; i < kLong / 10; ++i) total = total + x * 2;
  backward(total);
  EXPECT_EQ(values(x.grad()), Values{2.0F * static_cast<float>(kLong / 10)});
}

TEST(LongGraphTest, ADeepDiamondIsVisitedOnce) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  Tensor a = x;
  for (int i = 0; i < 200; ++i) a = (a + a) * 0.5;  // 2^200 paths
  backward(a);
  EXPECT_EQ(values(x.grad()), Values{1});
}

// Weak references
// ---------------------------------------------------------------------------------------------------------------------

TEST(WeakNodeTest, LocksWhileTheNodeLives) {
  WeakNode weak;
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(weak.lock());
  {
    const Tensor y = leaf(1) * 2;
    weak = WeakNode(y.grad_fn());
    EXPECT_EQ(weak.lock(), y.grad_fn());
    EXPECT_FALSE(weak.expired());
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(weak.lock());
}

TEST(WeakNodeTest, MovesItsReference) {
  const NoLeak no_leak;
  const Tensor y = leaf(1) * 2;
  WeakNode a(y.grad_fn());
  WeakNode b(std::move(a));
  EXPECT_TRUE(a.expired());  // NOLINT(bugprone-use-after-move): the moved-from state is what the test checks
  a = std::move(b);
  EXPECT_EQ(a.lock(), y.grad_fn());
}

}  // namespace
}  // namespace lamella::test
