#include "engine/autograd/backward/backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <random>
#include <stdexcept>

#include "engine/autograd/graph/primitives.h"
#include "engine/core/host.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests the walk of a pass through a graph: the gradients it sums, those it computes, and the calls it refuses.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

TEST(BackwardTest, AddsUpOverEveryPath) {
  struct Case {
    const char* what;
    std::function<Tensor(const Tensor&)> f;
    float slope;  // at x = 2
  };
  const Case cases[] = {
      {"twice in one op", [](const Tensor& x) { return x * x; }, 4},
      {"thrice", [](const Tensor& x) { return x * x * x; }, 12},
      {"x + x", [](const Tensor& x) { return x + x; }, 2},
      {"a diamond",
       [](const Tensor& x) {
         const Tensor a = x * 3;
         return a * 2 + a * a;
       },
       42},
      {"a diamond of layers",
       [](const Tensor& x) {
         const Tensor a = Cube::apply(x);
         return Identity::apply(a) + Cube::apply(a);
       },
       12 + 3 * 64 * 12},
      {"paths of different lengths", [](const Tensor& x) { return Identity::apply(Identity::apply(x * 2)) + x; }, 3},
      {"a ladder",
       [](const Tensor& x) {
         Tensor a = x;
         for (int i = 0; i < 10; ++i) a = a + a;
         return a;
       },
       1024},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const NoLeak no_leak;
    const Tensor x = leaf(2);
    backward(c.f(x));
    EXPECT_EQ(values(x.grad()), Values{c.slope});
    EXPECT_EQ(values(grad({c.f(x)}, {x})[0]), Values{c.slope});
    EXPECT_EQ(values(x.grad()), Values{c.slope}) << "grad() touches no .grad";
  }
}

/// Compares a random graph of sums with slopes counted in integers.
TEST(BackwardTest, AddsUpOverRandomGraphs) {
  std::mt19937 random(17);
  for (int round = 0; round < 100; ++round) {
    const NoLeak no_leak;
    const std::array inputs{leaf(1), leaf(1), leaf(1)};
    std::vector<Tensor> nodes(inputs.begin(), inputs.end());
    std::vector<std::array<std::int64_t, 3>> slopes{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int step = 0; step < 25; ++step) {
      const std::size_t i = random() % nodes.size();
      const std::size_t k = nodes.size() - 1 - random() % std::min<std::size_t>(nodes.size(), 4);
      const int factor = 1 + static_cast<int>(random() % 2);
      Tensor next =
          random() % 2 ? nodes[i] * factor + nodes[k] : Identity::apply(nodes[i]) * factor + Identity::apply(nodes[k]);
      std::array<std::int64_t, 3> slope{};
      for (std::size_t s = 0; s < 3; ++s) slope[s] = factor * slopes[i][s] + slopes[k][s];
      if (*std::max_element(slope.begin(), slope.end()) > (1 << 20)) continue;
      nodes.push_back(next);
      slopes.push_back(slope);
    }
    const std::vector<Tensor> by_grad =
        grad(std::array{nodes.back()}, inputs, {}, {.retain_graph = true, .allow_unused = true});
    backward(nodes.back());
    for (std::size_t s = 0; s < 3; ++s) {
      const auto expected = static_cast<float>(slopes.back()[s]);
      EXPECT_EQ(values(inputs[s].grad()), expected != 0 ? Values{expected} : Values{});
      EXPECT_EQ(values(by_grad[s]), values(inputs[s].grad()));
    }
  }
}

TEST(BackwardTest, StartsFromSeveralTensors) {
  const Tensor x = leaf(2);
  const Tensor a = x * 3;
  const Tensor b = a * 5;  // also downstream of a
  backward({a, b, a});
  EXPECT_EQ(values(x.grad()), Values{3 + 15 + 3});
}

TEST(BackwardTest, TakesGradientsToBeginWith) {
  const Tensor x = leaf({1, 2});
  const Tensor a = x * 3;
  const Tensor b = x * 1;
  backward(std::array{a, b}, std::array{vec({1, 10}), vec({100, 1000})});
  EXPECT_EQ(values(x.grad()), (Values{103, 1030}));
  const Tensor s = sum(x * 2);
  backward(std::array{s}, std::array{Tensor()});
  EXPECT_EQ(values(x.grad()), (Values{105, 1032})) << "an undefined one stands for ones";
}

TEST(BackwardTest, ALeafIsItsOwnResult) {
  const Tensor x = leaf(2);
  backward(x);
  backward(x, scalar(5));
  EXPECT_EQ(values(x.grad()), Values{6});
  EXPECT_EQ(values(grad({x}, {x})[0]), Values{1});
}

TEST(BackwardTest, CastsTheGradientToBeginWith) {
  const Tensor x = leaf({1, 2});
  backward(x * 2, cast(vec({1, 3}), DType::Float64));
  EXPECT_EQ(x.grad().dtype(), DType::Float32);
  EXPECT_EQ(values(x.grad()), (Values{2, 6}));
}

TEST(BackwardTest, RefusesWhatItCannotBeginWith) {
  const Tensor x = leaf({1, 2});
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(x * 2); }), "[backward] a gradient must be given"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([] { backward(scalar(1) * 2); }),
                       "[backward] tensor 0 has stop_gradient=True"));
  EXPECT_THROW(backward(x * 2, vec({1})), ValueError);
  EXPECT_THROW(backward(x * 2, vec({1, 2, 3})), ValueError);
  EXPECT_THROW(backward(x * 2, empty({2}, DType::Float32, kMeta)), RuntimeError);
  EXPECT_THROW(backward(Tensor()), ValueError);
  EXPECT_THROW(backward(std::array{x * 2, x * 3}, std::array{vec({1, 1})}), ValueError);
  EXPECT_THROW(backward(x.detach()), RuntimeError);
}

TEST(BackwardTest, SkipsBranchesWithoutAGradient) {
  const Tensor x = leaf(2);
  const Tensor constant = scalar(10);
  backward(x * constant + constant * constant);
  EXPECT_EQ(values(x.grad()), Values{10});
  EXPECT_FALSE(constant.grad().defined());
}

TEST(BackwardTest, ALeafThatStopsWantingItGetsNone) {
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const Tensor y = x * w;
  x.set_requires_grad(false);
  backward(y);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(values(w.grad()), Values{2});
}

// Accumulation
// ---------------------------------------------------------------------------------------------------------------------

TEST(AccumulationTest, XGradStaysTheSameObject) {
  const Tensor x = leaf({1, 2});
  backward(sum(x * 2));
  const Tensor held = x.grad();
  backward(sum(x * 3));
  EXPECT_TRUE(x.grad().same(held));
  EXPECT_EQ(values(held), (Values{5, 5}));
}

TEST(AccumulationTest, NeverWritesIntoATensorOfTheUsers) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({1, 2});
  const Tensor seed = vec({1, 1});
  backward(x + w, seed);
  backward(x + w, seed);
  EXPECT_EQ(values(seed), (Values{1, 1}));
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
  EXPECT_FALSE(x.grad().same(w.grad()));
  fill_(x.grad(), 9);
  EXPECT_EQ(values(w.grad()), (Values{2, 2})) << "leaves do not share their gradients' memory";
}

TEST(AccumulationTest, NorDoesAPassAfterARecordedOne) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({1, 2});
  const Tensor seed = vec({1, 1});
  backward(x + w, seed, false, /*create_graph=*/true);
  backward(x + w, seed);
  EXPECT_EQ(values(seed), (Values{1, 1}));
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
  EXPECT_EQ(values(w.grad()), (Values{2, 2}));
  // Each leaf's gradient is its own to change, with a history as well.
  x.set_grad({});
  w.set_grad({});
  backward((x + w) * x.detach(), seed.detach().set_requires_grad(true), false, /*create_graph=*/true);
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_NE(x.grad()->storage, w.grad()->storage);
}

struct KeepsGradient : Function<KeepsGradient> {
  static inline Tensor kept;
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) {
    kept = dy * 1;
    return kept;
  }
};

TEST(AccumulationTest, NeverWritesIntoWhatALayerKept) {
  const Tensor x = leaf(1);
  const Tensor h = x * 1;
  backward(KeepsGradient::apply(h) + h * 10 + h * 100);
  EXPECT_EQ(values(KeepsGradient::kept), Values{1});
  EXPECT_EQ(values(x.grad()), Values{111});
  backward(KeepsGradient::apply(x));
  backward(x * 5);
  EXPECT_EQ(values(KeepsGradient::kept), Values{1});
  KeepsGradient::kept = Tensor();
}

TEST(AccumulationTest, AddsToAGradientThatTheUserSet) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor mine = vec({10, 20, 30});
  x.set_grad(mine);
  backward(sum(x));
  EXPECT_TRUE(x.grad().same(mine));
  EXPECT_EQ(values(mine), (Values{11, 21, 31}));

  x.set_grad(broadcast_to(scalar(1), Dims{3}));
  backward(sum(x * 2));
  EXPECT_EQ(values(x.grad()), (Values{3, 3, 3})) << "one that cannot be written to is replaced";

  const Tensor columns = permute_dims(make(Values{1, 2, 3, 4}, Dims{2, 2}), Dims{1, 0});
  const Tensor m = ones({2, 2}).set_requires_grad(true);
  m.set_grad(columns);
  backward(sum(m));
  EXPECT_EQ(values(m.grad()), (Values{2, 4, 3, 5}));
}

TEST(AccumulationTest, UnderCreateGraphTheGradientHasAHistory) {
  const Tensor x = leaf(3);
  backward(std::array{Cube::apply(x)}, {}, false, /*create_graph=*/true);
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  EXPECT_EQ(values(grad({first}, {x})[0]), Values{18});
  x.set_grad({});  // breaks the cycle: the gradient's graph leads back to x
}

struct ThrowsOnAdd {
  ThrowsOnAdd() : before(autograd::primitives().add_in_place) {
    autograd::primitives().add_in_place = [](const Tensor&, const Tensor&) { throw std::runtime_error("no room"); };
  }
  ~ThrowsOnAdd() { autograd::primitives().add_in_place = before; }
  void (*before)(const Tensor&, const Tensor&);
};

TEST(AccumulationTest, AFailureKeepsTheGradientThatWasThere) {
  const Tensor x = leaf({1, 2});
  backward(sum(x * 2));
  {
    const ThrowsOnAdd failing;
    const Tensor y = sum(x * 3);
    EXPECT_THROW(backward(y), std::runtime_error);
  }
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
}

// grad()
// ---------------------------------------------------------------------------------------------------------------------

TEST(GradFunctionTest, CapturesLeavesAndResultsOnTheWay) {
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const Tensor h = x * x;
  const Tensor y = h * w;
  const auto grads = grad({y}, {h, x, w, h});
  EXPECT_EQ(values(grads[0]), Values{3});
  EXPECT_EQ(values(grads[1]), Values{12});
  EXPECT_EQ(values(grads[2]), Values{4});
  EXPECT_EQ(values(grads[3]), Values{3}) << "the same input twice";
  for (const Tensor& leaf : {x, w}) EXPECT_FALSE(leaf.grad().defined());
}

TEST(GradFunctionTest, OfAnOutputThatIsAnInput) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  EXPECT_EQ(values(grad({h}, {h})[0]), Values{1});
  const auto grads = grad({h, h * 5}, {h, x});
  EXPECT_EQ(values(grads[0]), Values{6});
  EXPECT_EQ(values(grads[1]), Values{18});
}

TEST(GradFunctionTest, RunsOnlyWhatIsNeeded) {
  struct Counts : Function<Counts> {
    static int& runs() {
      static int count = 0;
      return count;
    }
    static Tensor forward(Context&, const Tensor& x) { return x * 1; }
    static Tensor backward(Context&, const Tensor& dy) {
      ++runs();
      return dy;
    }
  };
  Counts::runs() = 0;
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const Tensor y = Counts::apply(x) * w;
  grad({y}, {w}, {.retain_graph = true});
  EXPECT_EQ(Counts::runs(), 0);
  const Tensor h = Counts::apply(x * 2);
  grad({h * 2}, {h});
  EXPECT_EQ(Counts::runs(), 0) << "what computed a captured tensor does not run";
  grad({y}, {x});
  EXPECT_EQ(Counts::runs(), 1);
}

TEST(GradFunctionTest, UnusedInputsAreAnErrorUnlessAllowed) {
  const Tensor x = leaf(2);
  const Tensor unused = leaf(3);
  const Tensor y = x * x;
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { grad({y}, {x, unused}, {.retain_graph = true}); }),
                       "[grad] input 1 is not used"));
  const auto grads = grad({y}, {x, unused}, {.allow_unused = true});
  EXPECT_EQ(values(grads[0]), Values{4});
  EXPECT_FALSE(grads[1].defined());
}

TEST(GradFunctionTest, RefusesBadInputs) {
  const Tensor x = leaf(2);
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { grad({x * 2}, {scalar(1)}); }), "[grad] input 0 has stop_gradient=True"));
  EXPECT_THROW(grad({x * 2}, {}), ValueError);
  EXPECT_THROW(grad({x * 2}, {Tensor()}), ValueError);
  EXPECT_THROW(grad({scalar(1)}, {x}), RuntimeError);
}

TEST(GradFunctionTest, FreesTheGraphUnlessToldOtherwise) {
  const Tensor x = leaf(2);
  const Tensor y = Cube::apply(x);
  grad({y}, {x}, {.retain_graph = true});
  grad({y}, {x}, {.create_graph = true});
  grad({y}, {x});
  EXPECT_THROW(grad({y}, {x}), RuntimeError);
}

TEST(GradFunctionTest, TakesGradOutputs) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  EXPECT_EQ(values(grad(std::array{y}, std::array{x}, std::array{vec({10, 100})})[0]), (Values{30, 300}));
}

TEST(GradFunctionTest, HigherDerivativesOfAPolynomial) {
  // f = x^5: f' = 5x^4, f'' = 20x^3, f''' = 60x^2, then 120x, 120.
  const Tensor x = leaf(2);
  Tensor f = x * x * x * x * x;
  for (const float expected : {80.0F, 160.0F, 240.0F, 240.0F, 120.0F}) {
    f = grad({f}, {x}, {.create_graph = true})[0];
    EXPECT_EQ(values(f), Values{expected});
  }
}

// Reentrant passes
// ---------------------------------------------------------------------------------------------------------------------

/// Starts a pass inside its backward, `levels` deep.
struct Reenters : Function<Reenters> {
  static Tensor forward(Context& ctx, const Tensor& x, int levels) {
    ctx.state<int>() = levels;
    return x * 1;
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dy) {
    const int levels = ctx.state<int>();
    if (levels == 0) return {dy};
    const autograd::EnableGrad enable;
    const Tensor inner = leaf(1);
    autograd::backward(apply(inner, levels - 1));
    return {dy * inner.grad()};
  }
};

TEST(ReentrantTest, BackwardMayCallBackward) {
  const Tensor x = leaf(1);
  backward(Reenters::apply(x, 3) * 7);
  EXPECT_EQ(values(x.grad()), Values{7});
}

TEST(ReentrantTest, FiveThousandLevelsDeep) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
#if defined(__SANITIZE_THREAD__)
  constexpr int kLevels = 500;  // ThreadSanitizer keeps the stacks
#else
  constexpr int kLevels = 5000;
#endif
  backward(Reenters::apply(x, kLevels) * 7);
  EXPECT_EQ(values(x.grad()), Values{7});
}

/// Starts a pass inside its backward, through a graph that the outer pass is walking.
struct ReentersShared : Function<ReentersShared> {
  static inline Tensor shared;
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) {
    autograd::backward(shared, {}, /*retain_graph=*/true);
    return dy;
  }
};

TEST(ReentrantTest, TheInnerPassMayShareNodesWithTheOuter) {
  const Tensor x = leaf(2);
  const Tensor h = Cube::apply(x);  // slope 12
  ReentersShared::shared = h * 10;
  const Tensor y = ReentersShared::apply(h) + h * 100;
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{12 * 10 + 12 * 101});
  ReentersShared::shared = Tensor();
}

TEST(ReentrantTest, AnExceptionOfTheInnerPassComesOut) {
  struct Inner : Function<Inner> {
    static Tensor forward(Context&, const Tensor& x) { return x * 1; }
    static Tensor backward(Context&, const Tensor&) { throw std::domain_error("inner"); }
  };
  struct OuterLayer : Function<OuterLayer> {
    static Tensor forward(Context& ctx, const Tensor& x, int levels) {
      ctx.state<int>() = levels;
      return x * 1;
    }
    static std::vector<Tensor> backward(Context& ctx, const Tensor& dy) {
      const autograd::EnableGrad enable;
      const int levels = ctx.state<int>();
      autograd::backward(levels == 0 ? Inner::apply(leaf(1)) : apply(leaf(1), levels - 1));
      return {dy};
    }
  };
  const Tensor x = leaf(1);
  for (const int levels : {0, 3, 120}) {  // at 120 levels, passes move to other threads
    EXPECT_THROW(backward(OuterLayer::apply(x, levels)), std::domain_error);
    EXPECT_TRUE(autograd::is_grad_enabled());
  }
  backward(x * 2);
  EXPECT_EQ(values(x.grad()), Values{2});
}

// Interrupts
// ---------------------------------------------------------------------------------------------------------------------

struct Interrupt : std::exception {};

TEST(InterruptTest, StopsALongPassAndLeavesItsGraphUsable) {
  static int countdown = 0;
  countdown = 3;
  host_hooks().check_interrupt = [] {
    if (countdown > 0 && --countdown == 0) throw Interrupt();
  };
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < 1000; ++i) y = Identity::apply(y);
  EXPECT_THROW(backward(y, {}, true), Interrupt);
  EXPECT_FALSE(x.grad().defined());
  backward(y, {}, true);
  host_hooks().check_interrupt = nullptr;
  EXPECT_EQ(values(x.grad()), Values{1});
}

}  // namespace
}  // namespace lamella::test
