#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/cpp/engine/autograd/support.h"

// Tests one hook on several tensors.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::HookHandle;
using autograd::MultiGradMode;
using autograd::register_hook;
using autograd::register_multi_grad_hook;
using Seen = std::vector<std::vector<Values>>;

/// Returns a hook that records the gradients of each call.
autograd::MultiGradHook note(Seen& seen) {
  return [&seen](const std::vector<Tensor>& grads) {
    std::vector<Values> call;
    for (const Tensor& g : grads) call.push_back(values(g));
    seen.push_back(call);
  };
}

/// Layer whose backward returns no gradient, without having declared that.
struct GivesNothing : Function<GivesNothing> {
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static std::nullopt_t backward(Context&, const Tensor&) { return std::nullopt; }
};

/// Layer that starts a pass inside its backward.
struct PassInside : Function<PassInside> {
  static inline Tensor inner;
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) {
    autograd::backward(inner);
    return dy;
  }
};

TEST(MultiGradHookTest, RunsOnceWhenAllAreThere) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor h = x * y;
  Seen seen;
  register_multi_grad_hook(std::array{x, h, y}, note(seen));
  backward(h * 5, {}, true);
  EXPECT_EQ(seen, (Seen{{{15}, {5}, {10}}}));
  backward(h * 7);
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1], (std::vector<Values>{{21}, {7}, {14}}));
}

TEST(MultiGradHookTest, DoesNotWaitForWhatThePassDoesNotReach) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor unused = leaf(4);
  const Tensor gone = x * 3;
  const Tensor h = x * y;
  Seen seen;
  register_multi_grad_hook(std::array{unused, x, gone, h}, note(seen));
  backward(h * 1, {}, true);
  EXPECT_EQ(seen, (Seen{{{}, {3}, {}, {1}}}));
  seen.clear();
  grad({h * 1}, {h});
  EXPECT_EQ(seen, (Seen{{{}, {}, {}, {1}}})) << "the pass has no need of x's gradient";
}

TEST(MultiGradHookTest, AnyRunsAtTheFirst) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor h = x * y;
  Seen seen;
  register_multi_grad_hook(std::array{x, h, y}, note(seen), MultiGradMode::Any);
  backward(h * 5, {}, true);
  EXPECT_EQ(seen, (Seen{{{}, {5}, {}}}));
  backward(h * 5);
  EXPECT_EQ(seen.size(), 2U);
}

TEST(MultiGradHookTest, AGradientThatTurnsOutToBeNoneIsWaitedForUntilTheEnd) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor h = x * 1;
  Seen seen;
  register_multi_grad_hook(std::array{h, y}, note(seen));
  backward(GivesNothing::apply(h) + y * 5);
  EXPECT_EQ(seen, (Seen{{{}, {5}}}));
}

TEST(MultiGradHookTest, EachPassHasItsOwn) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  PassInside::inner = x * 10 + y * 20;
  Seen seen;
  register_multi_grad_hook(std::array{x, y}, note(seen));
  backward(PassInside::apply(x) + y);
  PassInside::inner = Tensor();
  EXPECT_EQ(seen, (Seen{{{10}, {20}}, {{1}, {1}}}));
}

TEST(MultiGradHookTest, IsRemovedAsAWhole) {
  const auto alive = std::make_shared<int>();
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  int calls = 0;
  HookHandle handle =
      register_multi_grad_hook(std::array{x, y}, [&calls, alive](const std::vector<Tensor>&) { ++calls; });
  backward(x * y);
  handle.remove();
  EXPECT_EQ(alive.use_count(), 1);
  backward(x * y);
  EXPECT_EQ(calls, 1);
}

TEST(MultiGradHookTest, MayBeRemovedAndReplacedWithinAPass) {
  // A freed group may be reallocated at the same address: the pass must not take the new one for the old.
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor a = x * 1;
  const Tensor b = a * 1;
  Seen first;
  Seen second;
  std::optional<HookHandle> handle;
  handle = register_multi_grad_hook(std::array{b}, [&](const std::vector<Tensor>& grads) {
    note(first)(grads);
    handle->remove();
    register_multi_grad_hook(std::array{x, a, y}, note(second));
  });
  backward(b * y);
  EXPECT_EQ(first, (Seen{{{3}}}));
  EXPECT_EQ(second, (Seen{{{3}, {3}, {}}})) << "y's gradient was there before";
}

TEST(MultiGradHookTest, RemovedBeforeTheLastGradientItDoesNotRun) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  int calls = 0;
  HookHandle handle = register_multi_grad_hook(std::array{x, h}, [&](const std::vector<Tensor>&) { ++calls; });
  register_hook(h, [&](const Tensor&) { return handle.remove(), Tensor(); });
  backward(h * 1);
  EXPECT_EQ(calls, 0);
}

TEST(MultiGradHookTest, AnExceptionEndsThePass) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  HookHandle handle = register_multi_grad_hook(
      std::array{h}, [](const std::vector<Tensor>&) { throw std::domain_error("on purpose"); });
  EXPECT_THROW(backward(h * 1, {}, true), std::domain_error);
  EXPECT_FALSE(x.grad().defined());
  handle.remove();
  backward(h * 1);
  EXPECT_EQ(values(x.grad()), Values{3});
}

TEST(MultiGradHookTest, OutlivesSomeOfItsTensors) {
  const Tensor x = leaf(2);
  Seen seen;
  {
    const Tensor y = leaf(3);
    const Tensor h = y * 1;
    register_multi_grad_hook(std::array{x, y, h}, note(seen));
  }
  backward(x * 5);
  EXPECT_EQ(seen, (Seen{{{5}, {}, {}}}));
}

TEST(MultiGradHookTest, OnThreadsEachPassRunsItOnce) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  const Tensor h = x * y;
  std::atomic<int> right{0};
  register_multi_grad_hook(std::array{x, y, h}, [&](const std::vector<Tensor>& grads) {
    if (values(grads[0]) == Values{3} && values(grads[1]) == Values{2} && values(grads[2]) == Values{1}) ++right;
  });
  constexpr int kThreads = 4;
  constexpr int kPasses = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPasses; ++i) backward(h * 1, {}, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kPasses);
}

TEST(MultiGradHookTest, RefusesWhatItCannotWaitFor) {
  const Tensor x = leaf(2);
  const auto nothing = [](const std::vector<Tensor>&) {};
  EXPECT_THROW(register_multi_grad_hook(std::array{x, scalar(1)}, nothing), RuntimeError);
  EXPECT_THROW(register_multi_grad_hook(std::array{x, x}, nothing), ValueError);
  EXPECT_THROW(register_multi_grad_hook({}, nothing), ValueError);
}

}  // namespace
}  // namespace lamella::test
