#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "engine/autograd/graph/node.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests passes on several threads through graphs that share parts: results are exact, and ThreadSanitizer finds
// nothing. All sums are integers in float.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

constexpr int kThreads = 8;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 60;
#else
constexpr int kRounds = 300;
#endif

/// Runs body(t) on kThreads threads that start together; an exception in any of them fails the test.
void on_threads(const std::function<void(int)>& body) {
  std::atomic<int> waiting{kThreads};
  std::mutex mutex;
  std::string error;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        body(t);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        error = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(error, "");
}

constexpr float sum_to_threads() { return kThreads * (kThreads + 1) / 2; }

TEST(ThreadsTest, AGraphGoesBackwardOnAnotherThreadThanItWasBuiltOn) {
  const Tensor x = leaf(2);
  Tensor y = Cube::apply(x);
  std::thread([&] {
    backward(y);
    y = Tensor();
  }).join();
  EXPECT_EQ(values(x.grad()), Values{12});
}

TEST(ThreadsTest, PassesThroughASharedTrunkAddUpExactly) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  Tensor trunk = x;
  for (int i = 0; i < 20; ++i) trunk = Identity::apply(trunk) * 1;
  on_threads([&](int t) {
    for (int round = 0; round < kRounds; ++round) backward(sum(trunk * (t + 1)), {}, /*retain_graph=*/true);
  });
  const float expected = kRounds * sum_to_threads();
  EXPECT_EQ(values(x.grad()), (Values{expected, expected}));
}

TEST(ThreadsTest, ManyPassesThroughTheVerySameGraph) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  const Tensor h = Cube::apply(x);
  const Tensor y = h * 2 + Identity::apply(h);
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) backward({y, h, y}, /*retain_graph=*/true);  // 9 + 3 + 9
  });
  EXPECT_EQ(values(x.grad()), Values{21.0F * kThreads * kRounds});
}

TEST(ThreadsTest, GradGivesEachThreadItsOwn) {
  const Tensor x = leaf(3);
  const Tensor w = leaf(5);
  const Tensor h = Cube::apply(x);
  const Tensor y = h * w;
  std::atomic<int> wrong{0};
  on_threads([&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      const auto grads = grad({y * (t + 1)}, {x, h, w}, {.retain_graph = true});
      const auto factor = static_cast<float>(t + 1);
      if (values(grads[0]) != Values{135 * factor} || values(grads[1]) != Values{5 * factor} ||
          values(grads[2]) != Values{27 * factor}) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(x.grad().defined());
}

TEST(ThreadsTest, LeavesThatEveryoneUsesForTheFirstTimeAtOnce) {
  const NoLeak no_leak;
  for (int round = 0; round < kRounds / 5; ++round) {
    const std::array leaves{leaf(1), leaf(2), leaf(3)};
    on_threads([&](int t) {
      Tensor y = leaves[0] * leaves[1] + leaves[2];
      backward(y * (t + 1));
    });
    EXPECT_EQ(values(leaves[0].grad()), Values{2 * sum_to_threads()});
    EXPECT_EQ(values(leaves[1].grad()), Values{sum_to_threads()});
    EXPECT_EQ(values(leaves[2].grad()), Values{sum_to_threads()});
  }
}

TEST(ThreadsTest, SecondDerivativesOnSharedLeaves) {
  const Tensor x = leaf(2);
  std::atomic<int> wrong{0};
  on_threads([&](int) {
    for (int round = 0; round < kRounds / 2; ++round) {
      const Tensor dx = grad({Cube::apply(x)}, {x}, {.create_graph = true})[0];
      if (values(grad({dx}, {x})[0]) != Values{12}) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsTest, ASharedGraphIsFreedByWhoeverComesLast) {
  for (int round = 0; round < kRounds / 10 + 1; ++round) {
    const NoLeak no_leak;
    WeakNode node;
    {
      Tensor trunk = leaf(1) * 1;
      node = WeakNode(trunk.grad_fn());
      for (int i = 0; i < 500; ++i) trunk = Cube::apply(trunk);
      std::vector<Tensor> ends;
      for (int t = 0; t < kThreads; ++t) ends.push_back(trunk * t);
      trunk = Tensor();
      on_threads([&](int t) {
        ends[static_cast<std::size_t>(t)] = Tensor();
        if (const Ref<Node> alive = node.lock()) {
          EXPECT_EQ(alive->name(), "multiply");
        }
      });
    }
    EXPECT_TRUE(node.expired());
  }
}

/// Combines shared leaves, hooks that come and go, graphs that are built here and freed there, and failing passes.
TEST(ThreadsTest, StressOfBuildingHookingBackwardAndFreeing) {
  struct Fails : Function<Fails> {
    static Tensor forward(Context& ctx, const Tensor& x) {
      ctx.save_for_backward(x);
      return x * 1;
    }
    static Tensor backward(Context&, const Tensor&) { throw std::domain_error("on purpose"); }
  };
  const NoLeak no_leak;
  const std::array leaves{leaf({1, 1}), leaf({2, 2})};
  const Tensor shared = Cube::apply(leaves[0]);  // slope 3
  std::mutex mutex;
  std::vector<Tensor> exchange;
  std::atomic<int> hook_calls{0};
  std::atomic<int> failures{0};
  on_threads([&](int t) {
    std::mt19937 random(static_cast<unsigned>(t));
    for (int round = 0; round < kRounds; ++round) {
      const Tensor own = leaves[1] * 2 + shared;
      auto on_leaf = autograd::register_hook(leaves[1], [&](const Tensor& g) {
        ++hook_calls;
        return Tensor(g);
      });
      auto on_shared = autograd::register_hook(shared, [&](const Tensor&) { return Tensor(); });
      autograd::register_hook(own, [&](const Tensor& g) { return g * 1; });
      Tensor y = Identity::apply(own);
      backward(sum(y), {}, /*retain_graph=*/true);
      try {
        backward(sum(Fails::apply(y)), {}, /*retain_graph=*/true);
      } catch (const std::domain_error&) {
        ++failures;
      }
      on_leaf.remove();
      on_shared.remove();
      const std::lock_guard lock(mutex);
      exchange.push_back(std::move(y));
      if (exchange.size() > 20) {
        std::swap(exchange[random() % exchange.size()], exchange.back());
        exchange.pop_back();
      }
    }
  });
  exchange.clear();
  const float passes = kThreads * kRounds;
  EXPECT_EQ(failures, kThreads * kRounds);
  EXPECT_GE(hook_calls, kThreads * kRounds) << "each pass saw at least its own thread's hook";
  EXPECT_EQ(values(leaves[0].grad()), (Values{3 * passes, 3 * passes}));
  EXPECT_EQ(values(leaves[1].grad()), (Values{2 * passes, 2 * passes}));
}

/// Layer whose backward starts a thread that runs another pass, and waits for it.
struct StartsAThread : Function<StartsAThread> {
  static inline Tensor other;
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) {
    std::thread([] { autograd::backward(other * 5, {}, true); }).join();
    return dy;
  }
};

TEST(ThreadsTest, BackwardMayStartAThreadAndWaitForIt) {
  const Tensor x = leaf(2);
  StartsAThread::other = Cube::apply(x);
  backward(StartsAThread::apply(StartsAThread::other));
  EXPECT_EQ(values(x.grad()), Values{12 * 6});
  StartsAThread::other = Tensor();
}

TEST(ThreadsTest, ASlowPassHoldsUpNobody) {
  // One pass waits inside a layer until another, through the same nodes, has ended.
  static std::atomic<bool> inside;
  static std::atomic<bool> release;
  struct Waits : Function<Waits> {
    static Tensor forward(Context&, const Tensor& x) { return x * 1; }
    static Tensor backward(Context&, const Tensor& dy) {
      inside = true;
      while (!release) std::this_thread::yield();
      return dy;
    }
  };
  inside = false;
  release = false;
  const Tensor x = leaf(2);
  const Tensor h = Cube::apply(x);
  const Tensor waits = Waits::apply(h);
  std::thread slow([&] { backward(waits, {}, true); });
  while (!inside) std::this_thread::yield();
  backward(h * 10, {}, true);
  EXPECT_EQ(values(x.grad()), Values{120});
  release = true;
  slow.join();
  EXPECT_EQ(values(x.grad()), Values{132});
}

}  // namespace
}  // namespace lamella::test
