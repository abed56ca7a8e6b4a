#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/backward/multi_grad_hook.h"
#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/node.h"
#include "engine/autograd/graph/running_pass.h"
#include "tests/cpp/engine/autograd/support.h"

// Stress test: threads build, share, change, hook, differentiate and free graphs at random, for LAMELLA_STRESS_SECONDS
// (default 2). It is meant for ThreadSanitizer, and exact everywhere: all values are 1, all slopes small integers, and
// each thread counts what it adds to the leaves.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::HookHandle;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kThreads = 8;
constexpr std::size_t kLeaves = 4;
constexpr std::size_t kShared = 24;
constexpr int kMaxDepth = 12;
constexpr std::int64_t kMaxSlope = 1 << 16;

std::chrono::duration<double> stress_time() {
  const char* text = std::getenv("LAMELLA_STRESS_SECONDS");
  return std::chrono::duration<double>(text ? std::atof(text) : 2.0);
}

/// Ends the process if a test does not end: a deadlock must fail, not hang.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::duration<double> limit)
      : thread_([this, limit] {
          std::unique_lock lock(mutex_);
          if (wake_.wait_for(lock, limit, [&] { return done_; })) return;
          std::fputs("the stress test hangs\n", stderr);
          std::abort();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

/// Returns a float64 leaf of ones, in which integer sums stay exact for any running time.
Tensor wide_leaf() { return cast(vec({1, 1, 1}), DType::Float64).set_requires_grad(true); }

/// x * x at x = 1, differentiated from its output, which it also keeps in other places.
struct SquareOfOne : Function<SquareOfOne> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    const Tensor y = x * x;
    ctx.save_for_backward(y, x);
    ctx.saved_data()["closure"] = std::function<Tensor()>([y] { return y; });
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y, x] = ctx.saved_tensors<2>();
    return (y + x) * dy;
  }
};

struct Fails : Function<Fails> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * 1;
  }
  static Tensor backward(Context&, const Tensor&) { throw std::domain_error("on purpose"); }
};

/// Layer that calls a function, for example one that starts a pass, in its backward.
struct Nests : Function<Nests> {
  using Inside = std::function<void()>;
  static Tensor forward(Context& ctx, const Tensor& x, const Inside& inside) {
    ctx.state<Inside>() = inside;
    return x * 1;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    ctx.state<Inside>()();
    return dy;
  }
};

using Slopes = std::array<std::int64_t, kLeaves>;

/// Tensor of ones, and the slope of its elements with respect to each leaf.
struct Item {
  Tensor y;
  Slopes slopes{};
  int depth = 0;
};

Slopes operator+(const Slopes& a, const Slopes& b) {
  Slopes sum{};
  for (std::size_t i = 0; i < kLeaves; ++i) sum[i] = a[i] + b[i];
  return sum;
}
Slopes operator*(const Slopes& a, std::int64_t factor) {
  Slopes product{};
  for (std::size_t i = 0; i < kLeaves; ++i) product[i] = a[i] * factor;
  return product;
}

struct World {
  std::array<Tensor, kLeaves> leaves;
  std::mutex mutex;
  std::vector<Item> items;          // guarded by mutex
  std::vector<HookHandle> handles;  // guarded by mutex
  std::array<std::atomic<std::int64_t>, kLeaves> accumulations{};
  std::atomic<std::int64_t> hook_calls{0};
  std::atomic<bool> stop{false};

  World() {
    for (std::size_t i = 0; i < kLeaves; ++i) {
      leaves[i] = wide_leaf();
      autograd::register_post_accumulate_grad_hook(
          leaves[i], [this, i](const Tensor&) { accumulations[i].fetch_add(1, std::memory_order_relaxed); });
    }
  }
};

/// Work of one thread.
class Worker {
 public:
  Worker(World& world, unsigned seed) : world_(world), random_(seed) {}

  void run() {
    while (!world_.stop.load(std::memory_order_relaxed)) {
      step();
      ++steps;
    }
  }

  Slopes added{};
  Slopes accumulations{};
  std::int64_t steps = 0;
  std::vector<WeakNode> nodes;

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  Item leaf_item() {
    const std::size_t i = pick(kLeaves);
    Item item{world_.leaves[i], {}, 0};
    item.slopes[i] = 1;
    return item;
  }

  Item shared_item() {
    const std::lock_guard lock(world_.mutex);
    return world_.items.empty() ? leaf_item() : world_.items[pick(world_.items.size())];
  }

  void share(Item item) {
    Item dropped;  // freed after the lock is released
    const std::lock_guard lock(world_.mutex);
    if (world_.items.size() < kShared) {
      world_.items.push_back(std::move(item));
      return;
    }
    dropped = std::exchange(world_.items[pick(kShared)], std::move(item));
  }

  void keep(HookHandle handle) {
    HookHandle removed;
    {
      const std::lock_guard lock(world_.mutex);
      world_.handles.push_back(std::move(handle));
      if (world_.handles.size() < 16) return;
      std::swap(world_.handles[pick(world_.handles.size())], world_.handles.back());
      removed = std::move(world_.handles.back());
      world_.handles.pop_back();
    }
    removed.remove();
  }

  /// Returns the result of a random operation on shared or own items.
  Item grow() {
    const Item a = pick(3) ? shared_item() : leaf_item();
    const Item b = pick(3) ? shared_item() : leaf_item();
    const int depth = std::max(a.depth, b.depth) + 1;
    const Slopes both = a.slopes + b.slopes;
    if (depth > kMaxDepth || std::ranges::max(both) > kMaxSlope) return leaf_item();
    switch (pick(8)) {
      case 0:
        return {Cube::apply(a.y), a.slopes * 3, depth};
      case 1:
        return {a.y * b.y, both, depth};
      case 2:
        return {a.y + b.y - 1, both, depth};
      case 3:
        return {SquareOfOne::apply(a.y), a.slopes * 2, depth};
      case 4:
        return {reshape(reshape(a.y, Dims{3, 1}), Dims{3}), a.slopes, depth};
      case 5: {
        // Writes to both parts of the tensor through views of it.
        Item item{a.y * 1, both, depth};
        mul_(narrow(item.y, 0, 0, 2), narrow(b.y, 0, 0, 2));
        mul_(narrow(item.y, 0, 2, 1), narrow(b.y, 0, 2, 1));
        return item;
      }
      case 6: {
        // The next use of the view, on any thread, finds it out of date.
        const Tensor base = a.y * 1;
        const Tensor view = index(base, {Slice{}});
        mul_(base, b.y);
        return {view, both, depth};
      }
      default:
        return {concat({narrow(a.y, 0, 0, 1), narrow(a.y, 0, 1, 2)}), a.slopes, depth};
    }
  }

  void note(const Slopes& slopes) {
    for (std::size_t i = 0; i < kLeaves; ++i) {
      added[i] += slopes[i];
      accumulations[i] += slopes[i] != 0;
    }
  }

  void check(const Tensor& gradient, std::int64_t slope) {
    const auto expected = static_cast<float>(slope);
    if (values(gradient) != Values{expected, expected, expected}) throw std::logic_error("a wrong gradient");
  }

  void pass(const Item& item) {
    backward(sum(item.y), {}, /*retain_graph=*/true);
    note(item.slopes);
  }

  void own_pass() {
    const Item a = leaf_item();
    const Item b = leaf_item();
    const Tensor y = Cube::apply(a.y) * SquareOfOne::apply(b.y);
    autograd::retain_grad(y);
    nodes_of(y);
    backward(sum(y));
    check(y.grad(), 1);
    note(a.slopes * 3 + b.slopes * 2);
  }

  void pass_to_inputs(const Item& item) {
    const std::size_t i = pick(kLeaves);
    const Tensor y = sum(item.y);
    backward(std::span(&y, 1), {}, true, false, std::span(&world_.leaves[i], 1));
    Slopes slopes{};
    slopes[i] = item.slopes[i];
    note(slopes);
  }

  void gradients(const Item& item) {
    const bool create_graph = pick(2);
    const Tensor y = sum(item.y);
    const auto grads = grad(std::span(&y, 1), world_.leaves, {},
                            {.retain_graph = true, .create_graph = create_graph, .allow_unused = true});
    for (std::size_t i = 0; i < kLeaves; ++i) {
      if (grads[i].defined() != (item.slopes[i] != 0)) throw std::logic_error("a gradient where none belongs");
      if (grads[i].defined()) check(grads[i], item.slopes[i]);
    }
  }

  void second_derivative() {
    const Tensor& x = world_.leaves[pick(kLeaves)];
    const Tensor dx = grad({sum(Cube::apply(x))}, {x}, {.create_graph = true})[0];
    check(grad({sum(dx)}, {x})[0], 6);
  }

  void hook(const Item& item) {
    const auto count = [this] { world_.hook_calls.fetch_add(1, std::memory_order_relaxed); };
    const Tensor& y = item.y;
    switch (pick(6)) {
      case 0:
        return keep(autograd::register_hook(y, [count](const Tensor& g) { return count(), g * 1; }));
      case 1:
        return keep(autograd::register_hook(world_.leaves[pick(kLeaves)], [count](const Tensor&) {
          count();
          autograd::queue_callback(count);
          return Tensor();
        }));
      case 2: {
        const std::array tensors{world_.leaves[pick(kLeaves)], y * 1};
        const auto mode = pick(2) ? autograd::MultiGradMode::All : autograd::MultiGradMode::Any;
        keep(autograd::register_multi_grad_hook(tensors, [count](const std::vector<Tensor>&) { count(); }, mode));
        return pass({tensors[1], item.slopes, item.depth});
      }
      case 3:
        if (const auto node = y.grad_fn()) {
          keep(autograd::register_prehook(*node, [count](const TensorList& grads) {
            count();
            return std::optional(grads);
          }));
        }
        return;
      case 4:
        if (const auto node = y.grad_fn()) {
          keep(autograd::register_posthook(*node, [count](const TensorList& results, const TensorList&) {
            count();
            return std::optional(results);
          }));
        }
        return;
      default: {
        const Tensor own = y * 1;
        autograd::retain_grad(own);
        pass({own, item.slopes, item.depth});
        return check(own.grad(), 1);
      }
    }
  }

  void fail_on_the_way(const Item& item) {
    try {
      if (pick(2)) {
        backward(sum(Fails::apply(item.y)), {}, true);
      } else {
        const Tensor y = item.y * 1;
        autograd::register_hook(y, [](const Tensor&) -> Tensor { throw std::domain_error("on purpose"); });
        backward(sum(y), {}, true);
      }
    } catch (const std::domain_error&) {
      return;
    }
    throw std::logic_error("nothing was thrown");
  }

  void overwrite_what_was_saved(const Item& item) {
    const Tensor own = item.y * 1;
    const Tensor y = sum(Cube::apply(own));
    add_(own, 1);
    try {
      backward(y, {}, true);
    } catch (const RuntimeError&) {
      return;
    }
    throw std::logic_error("an overwritten tensor was used");
  }

  void nested(const Item& item) {
    const Item inner = shared_item();
    const Nests::Inside inside = [&] {
      const autograd::EnableGrad recording;
      pass(inner);
    };
    backward(sum(Nests::apply(item.y, inside)), {}, true);
    note(item.slopes);
  }

  void nodes_of(const Tensor& y) {
    if (nodes.size() < 1000) nodes.emplace_back(y.grad_fn());
  }

  void step() {
    const Item item = shared_item();
    switch (pick(12)) {
      case 0:
        return pass(item);
      case 1:
        return own_pass();
      case 2:
        return pass_to_inputs(item);
      case 3:
        return gradients(item);
      case 4:
        return second_derivative();
      case 5:
        return hook(item);
      case 6:
        return fail_on_the_way(item);
      case 7:
        return overwrite_what_was_saved(item);
      case 8:
        return nested(item);
      default: {
        Item made = grow();
        nodes_of(made.y);
        return share(std::move(made));
      }
    }
  }

  World& world_;
  std::mt19937 random_;
};

TEST(StressTest, ThreadsThatShareEverything) {
  const auto seconds = stress_time();
  const Watchdog watchdog(seconds * 5 + std::chrono::minutes(2));
  const NoLeak no_leak;
  std::vector<WeakNode> nodes;
  {
    World world;
    std::vector<Worker> workers;
    for (unsigned t = 0; t < kThreads; ++t) workers.emplace_back(world, t + 1);
    std::array<std::string, kThreads> errors;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        try {
          workers[t].run();
        } catch (const std::exception& error) {
          errors[t] = error.what();
          world.stop = true;
        }
      });
    }
    const auto end = Clock::now() + seconds;
    while (Clock::now() < end && !world.stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    world.stop = true;
    for (std::thread& thread : threads) thread.join();
    for (const std::string& error : errors) EXPECT_EQ(error, "");

    std::int64_t steps = 0;
    for (std::size_t i = 0; i < kLeaves; ++i) {
      std::int64_t added = 0;
      std::int64_t accumulations = 0;
      for (const Worker& worker : workers) {
        added += worker.added[i];
        accumulations += worker.accumulations[i];
      }
      const Tensor gradient = world.leaves[i].grad();
      ASSERT_TRUE(gradient.defined());
      for (int k = 0; k < 3; ++k) EXPECT_EQ(gradient.data<double>()[k], static_cast<double>(added)) << "leaf " << i;
      EXPECT_EQ(world.accumulations[i], accumulations) << "leaf " << i;
    }
    for (Worker& worker : workers) {
      EXPECT_GT(worker.steps, 0);
      steps += worker.steps;
      for (WeakNode& node : worker.nodes) nodes.push_back(std::move(node));
    }
    EXPECT_GT(world.hook_calls, 0);
    std::printf("%lld steps\n", static_cast<long long>(steps));
  }
  EXPECT_TRUE(std::ranges::all_of(nodes, [](const WeakNode& node) { return node.expired(); }));
  nodes.clear();
  nodes.shrink_to_fit();
}

TEST(StressTest, RetainedGradientsOfSharedResultsAddUp) {
  constexpr int kRounds = 200;
  const Watchdog watchdog(std::chrono::minutes(2));
  const Tensor x = wide_leaf();
  const Tensor h = Cube::apply(x);
  autograd::retain_grad(h);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) backward(sum(h * 1), {}, /*retain_graph=*/true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr float kPasses = kThreads * kRounds;
  EXPECT_EQ(values(h.grad()), (Values{kPasses, kPasses, kPasses}));
  EXPECT_EQ(values(x.grad()), (Values{3 * kPasses, 3 * kPasses, 3 * kPasses}));
}

/// Checks that a hook runs in its thread's next pass, whichever thread hooked the tensor first.
TEST(StressTest, ANewHookRunsInTheNextPass) {
  const Watchdog watchdog(std::chrono::minutes(2));
  const Tensor x = wide_leaf();
  std::atomic<int> missed{0};
  for (int round = 0; round < 200; ++round) {
    const Tensor h = x * 1;
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        const std::thread::id own = std::this_thread::get_id();
        const auto ran = std::make_shared<bool>(false);
        together.arrive_and_wait();
        autograd::register_hook(h, [ran, own](const Tensor&) {
          if (std::this_thread::get_id() == own) *ran = true;
          return Tensor();
        });
        grad({sum(h)}, {x}, {.retain_graph = true});
        if (!*ran) ++missed;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(missed, 0);
}

/// Lets a leaf die with the last graph that uses it, while a hook on several tensors asks which of them are alive.
TEST(StressTest, HooksOnSeveralTensorsWhileTheirLeavesDie) {
  const Watchdog watchdog(std::chrono::minutes(2));
  const NoLeak no_leak;
  for (int round = 0; round < 200; ++round) {
    const Tensor x = wide_leaf();
    std::vector<Tensor> mortal(kThreads);
    std::vector<Tensor> graphs(kThreads);
    std::vector<HookHandle> handles(kThreads);
    std::atomic<int> calls{0};
    for (std::size_t t = 0; t < kThreads; ++t) {
      mortal[t] = wide_leaf();
      graphs[t] = mortal[t] * 1;
      const std::array tensors{x, mortal[t]};
      handles[t] = autograd::register_multi_grad_hook(tensors, [&](const std::vector<Tensor>&) { ++calls; });
      mortal[t] = Tensor();
    }
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        together.arrive_and_wait();
        if (t % 2) graphs[t] = Tensor();
        backward(sum(x * 1));
        if (t % 4 == 3) handles[t - 1].remove();
        graphs[t] = Tensor();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(calls, 0);
    EXPECT_EQ(values(x.grad()), (Values{kThreads, kThreads, kThreads}));
  }
}

}  // namespace
}  // namespace lamella::test
