#include "engine/autograd/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cpp/engine/autograd/support.h"

// Tests checkpoints: gradients equal those of a plain call, and what forward computed is not kept.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::checkpoint;
using autograd::CheckpointOptions;
using autograd::grad;

/// x^6, in steps each of which saves a tensor.
Tensor steps(const Tensor& x) {
  const Tensor y = Cube::apply(x);
  return y * y;
}

TEST(CheckpointTest, GradientsAreThoseOfAPlainCall) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const Tensor& t) {
        ++calls;
        return steps(t);
      },
      x);
  EXPECT_EQ(values(y), (Values{1, 64}));
  EXPECT_EQ(calls, 1);
  backward(sum(y));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(values(x.grad()), (Values{6, 192}));
}

TEST(CheckpointTest, KeepsNothingOfForward) {
  const Tensor x = leaf({1, 2}) * 1;
  const Tensor big = full({1 << 16}, 1.0);
  big.set_requires_grad(true);
  const auto bytes_held = [&](auto&& run) {
    const std::int64_t before = live_bytes();
    const Tensor y = run();
    return live_bytes() - before;
  };
  const auto chain = [](const Tensor& t) {
    Tensor y = t;
    for (int i = 0; i < 8; ++i) y = exp(y * 0.5);
    return sum(y);
  };
  EXPECT_GT(bytes_held([&] { return chain(big); }), 8 * 4 * (1 << 16));
  EXPECT_LT(bytes_held([&] { return checkpoint(chain, big); }), 1 << 16);
}

TEST(CheckpointTest, SeveralPassesAndHigherDerivatives) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const Tensor& t) {
        ++calls;
        return t * t * t * w;
      },
      x);
  backward(y, {}, true);
  backward(y, {}, true);
  EXPECT_EQ(values(x.grad()), Values{72});
  EXPECT_EQ(calls, 3);
  const Tensor dx = grad({y}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(dx), Values{36});
  const auto second = grad({dx}, {x, w}, {.create_graph = true});
  EXPECT_EQ(values(second[0]), Values{36});  // 6 x w
  EXPECT_EQ(values(second[1]), Values{12});  // 3 x^2
  EXPECT_EQ(values(grad({second[0]}, {x})[0]), Values{18});
}

TEST(CheckpointTest, Nests) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  int outer = 0, inner = 0;
  const auto f = [&](const Tensor& t) {
    ++outer;
    const Tensor h = t * t;
    const Tensor g = checkpoint(
        [&](const Tensor& u) {
          ++inner;
          return Cube::apply(u);
        },
        h);
    return g * g;
  };
  const Tensor y = checkpoint(f, x);
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{12 * 2048});  // (x^2)^6
  EXPECT_GE(inner, 2);
  const Tensor z = checkpoint(f, x);
  const Tensor dx = grad({z}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(grad({dx}, {x})[0]), Values{132 * 1024});
}

TEST(CheckpointTest, TakesContainersAndPlainValues) {
  const NoLeak no_leak;
  const Tensor a = leaf(2), b = leaf(3), c = leaf(4);
  const Tensor y = checkpoint(
      [](const std::vector<Tensor>& list, const std::map<std::string, Tensor>& named, std::optional<Tensor> none,
         float factor) {
        EXPECT_FALSE(none);
        return list[0] * list[1] * named.at("c") * factor;
      },
      std::vector{a, b}, std::map<std::string, Tensor>{{"c", c}}, std::optional<Tensor>(), 5.0f);
  backward(y);
  EXPECT_EQ(values(a.grad()), Values{60});
  EXPECT_EQ(values(b.grad()), Values{40});
  EXPECT_EQ(values(c.grad()), Values{30});
}

TEST(CheckpointTest, DrawsTheSameNumbersAgainAndDisturbsNobody) {
  const Tensor x = leaf({1, 1, 1, 1, 1, 1, 1, 1});
  const auto f = [](const Tensor& t) { return dropout(t * t, 0.5, true) * t; };
  seed(3);
  const Tensor y = checkpoint(f, x);
  const Tensor expected = rand({4});
  seed(3);
  f(x.detach());
  backward(sum(y));
  EXPECT_EQ(values(rand({4})), values(expected)) << "backward drew from the common stream";
  Values slope;
  for (const float v : values(y)) slope.push_back(3 * v);
  EXPECT_EQ(values(x.grad()), slope);
}

TEST(CheckpointTest, SaysWhatIsNotTheSame) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  const auto message = [&](auto&& function, CheckpointOptions options = {}) {
    calls = 0;
    const Tensor y = checkpoint(options, function, x);
    return message_of<RuntimeError>([&] { backward(sum(y)); });
  };
  EXPECT_TRUE(
      contains(message([&](const Tensor& t) { return ++calls == 1 ? Cube::apply(t) : t * 2; }),
               "saved tensor 0 is float32[] on cpu from multiply, and was float32[2] on cpu from Cube in forward"));
  EXPECT_TRUE(contains(message([&](const Tensor& t) { return exp(++calls == 1 ? t : concat({t, t}, 0)); }),
                       "saved tensor 0 is float32[4] on cpu from exp, and was float32[2] on cpu from exp in forward"));
  EXPECT_TRUE(
      contains(message([&](const Tensor& t) { return ++calls == 1 ? exp(t) : exp(exp(t)); }, {.early_stop = false}),
               "its exp saves float32[2] on cpu, and in forward it saved 1 tensors and no more"));
}

TEST(CheckpointTest, StopsEarly) {
  const Tensor x = leaf(2);
  int reached = 0;
  const auto f = [&](const Tensor& t) {
    const Tensor y = exp(t);
    ++reached;
    return y + 1;
  };
  backward(checkpoint(f, x));
  EXPECT_EQ(reached, 1);
  backward(checkpoint(CheckpointOptions{.early_stop = false}, f, x));
  EXPECT_EQ(reached, 3);
}

TEST(CheckpointTest, AnExceptionLeavesTheNextPassClean) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  bool fails = false;
  const Tensor y = checkpoint(
      [&](const Tensor& t) {
        const Tensor h = t * t;
        if (fails) throw std::runtime_error("on purpose");
        return h * h;
      },
      x);
  fails = true;
  EXPECT_EQ(message_of<std::runtime_error>([&] { backward(y, {}, true); }), "on purpose");
  EXPECT_TRUE(autograd::is_grad_enabled());
  EXPECT_EQ(autograd::modes().interceptors, 0);
  fails = false;
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{32});
}

TEST(CheckpointTest, AnExceptionInForwardLeavesNothing) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              checkpoint(
                  [](const Tensor& t) -> Tensor {
                    const Tensor h = exp(t);
                    throw std::runtime_error("on purpose");
                  },
                  x);
            }),
            "on purpose");
  EXPECT_EQ(autograd::modes().interceptors, 0);
}

TEST(CheckpointTest, AnOverwrittenArgumentIsAnError) {
  const Tensor x = leaf(2) * 1;
  const Tensor y = checkpoint(steps, x);
  {
    const autograd::NoGrad no_grad;
    add_(x, scalar(1));
  }
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { backward(y); }), "[checkpoint] saved tensor 0 (float32[] on cpu)"));
}

TEST(CheckpointTest, AnOverwrittenIntermediateIsAnError) {
  const Tensor x = leaf({1, 2});
  const Tensor y = checkpoint(
      [](const Tensor& t) {
        const Tensor h = exp(t);
        add_(h, h.detach() * 0 + 1);
        return h * h;
      },
      x);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(sum(y)); }), "that exp saved in the function"));
}

TEST(CheckpointTest, GradientsInsideTheFunction) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const auto f = [](const Tensor& t) {
    const Tensor dt = grad({t * t * t}, {t}, {.create_graph = true})[0];
    return dt * t;
  };
  backward(checkpoint(f, x));
  EXPECT_EQ(values(x.grad()), Values{36});  // (3 x^3)'
}

TEST(CheckpointTest, ConcurrentPassesEachComputeAgain) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = sum(checkpoint(steps, x));
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = grad({y}, {x}, {.retain_graph = true})[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) EXPECT_EQ(values(result), (Values{6, 192, 1458}));
}

TEST(CheckpointTest, WithoutRecordingItIsAPlainCall) {
  const autograd::NoGrad no_grad;
  EXPECT_FALSE(checkpoint(steps, leaf(2)).requires_grad());
}

TEST(CheckpointSequentialTest, ChecksAndChains) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const std::vector<std::function<Tensor(const Tensor&)>> functions(5, [](const Tensor& t) { return t * t; });
  backward(autograd::checkpoint_sequential(functions, 2, x));
  EXPECT_EQ(values(x.grad()), Values{32.0f * 2147483648.0f});
  EXPECT_TRUE(contains(message_of<ValueError>([&] { autograd::checkpoint_sequential(functions, 6, x); }), "5, got 6"));
}

/// exp(x), differentiated from its output; counts its forward calls.
struct Counted : Function<Counted> {
  static inline int runs = 0;
  static Tensor forward(Context& ctx, const Tensor& x) {
    ++runs;
    Tensor y = exp(x);
    ctx.save_for_backward(x, y, y * 2);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y, twice] = ctx.saved_tensors<3>();
    return dy * twice - dy * y + x * 0;
  }
};

TEST(SelectiveCheckpointTest, KeptCallsRunOnce) {
  const NoLeak no_leak;
  const Tensor x = leaf({0, 1});
  const auto f = [](const Tensor& t) { return Cube::apply(Counted::apply(t * 1) * t); };
  const Tensor plain = leaf({0, 1});
  backward(sum(f(plain)));
  std::vector<std::string> asked;
  for (const bool keeps : {true, false}) {
    Counted::runs = 0;
    asked.clear();
    x.set_grad({});
    const CheckpointOptions options{.policy = [&](std::string_view op, std::span<const Tensor* const> inputs) {
      EXPECT_FALSE(inputs.empty());
      asked.emplace_back(op);
      return keeps && op == "Counted";
    }};
    const Tensor y = checkpoint(options, f, x);
    EXPECT_EQ(asked, (std::vector<std::string>{"multiply", "Counted", "multiply", "Cube"}));
    backward(sum(y), {}, true);
    EXPECT_EQ(Counted::runs, keeps ? 1 : 2);
    EXPECT_EQ(values(x.grad()), values(plain.grad()));
    backward(sum(y));
    EXPECT_EQ(Counted::runs, keeps ? 1 : 3);
    EXPECT_EQ(autograd::modes().interceptors, 0);
  }
}

TEST(SelectiveCheckpointTest, EverythingKept) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  const CheckpointOptions all{.policy = [](std::string_view, std::span<const Tensor* const>) { return true; }};
  const auto f = [](const Tensor& t) {
    const auto parts = split(t * t, Dims{1, 1}, 0);
    Tensor y = concat({parts[1], parts[0]}, 0) * t;
    add_(y, y.detach() * 0 + 1);
    return Cube::apply(y);
  };
  const Tensor plain = leaf({1, 2});
  backward(sum(f(plain)));
  const Tensor y = checkpoint(all, f, x);
  const Tensor dx = grad({sum(y)}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(dx), values(plain.grad()));
  const Tensor dp = grad({sum(f(plain))}, {plain}, {.create_graph = true})[0];
  EXPECT_EQ(values(grad({sum(dx)}, {x})[0]), values(grad({sum(dp)}, {plain})[0]));
}

TEST(SelectiveCheckpointTest, RandomNumbersAfterAKeptCallAreTheSame) {
  struct Noise : Function<Noise> {
    static Tensor forward(Context&, const Tensor& x) { return x + rand({8}); }
    static Tensor backward(Context&, const Tensor& dy) { return dy; }
  };
  const Tensor x = leaf({1, 2, 3, 4, 5, 6, 7, 8});
  const CheckpointOptions options{
      .policy = [](std::string_view op, std::span<const Tensor* const>) { return op == "Noise"; }};
  const Tensor y = checkpoint(options, [](const Tensor& t) { return dropout(Noise::apply(t), 0.5, true) * 4; }, x);
  backward(sum(y));
  Values expected;
  for (const float v : values(y)) expected.push_back(v == 0 ? 0 : 8);
  EXPECT_EQ(values(x.grad()), expected);
}

TEST(SelectiveCheckpointTest, OtherCallsTheSecondTimeAreAnError) {
  const Tensor x = leaf(2);
  int calls = 0;
  const CheckpointOptions options{.policy = [](std::string_view, std::span<const Tensor* const>) { return true; }};
  const Tensor y = checkpoint(options, [&](const Tensor& t) { return ++calls == 1 ? exp(t) * t : tanh(t) * t; }, x);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(y); }), "its call 0 is tanh, and was exp in forward"));
}

}  // namespace
}  // namespace lamella::test
