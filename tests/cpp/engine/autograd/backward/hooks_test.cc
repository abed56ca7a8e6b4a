#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "engine/autograd/graph/node.h"
#include "tests/cpp/engine/autograd/support.h"

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::HookHandle;
using autograd::register_hook;

TEST(HooksTest, SeeAndReplaceTheGradientOfALeaf) {
  const Tensor x = leaf({1, 2});
  std::vector<Values> seen;
  register_hook(x, [&](const Tensor& g) {
    seen.push_back(values(g));
    return g * 10;
  });
  register_hook(x, [&](const Tensor& g) {
    seen.push_back(values(g));
    return Tensor();
  });
  backward(sum(x * x));
  EXPECT_EQ(seen, (std::vector<Values>{{2, 4}, {20, 40}}))
      << "in the order of registration, after all paths were added up";
  EXPECT_EQ(values(x.grad()), (Values{20, 40}));
}

TEST(HooksTest, SeeAndReplaceTheGradientOfAResult) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  int calls = 0;
  register_hook(h, [&](const Tensor& g) {
    ++calls;
    return g + 1;
  });
  backward(h * 5 + h * 7);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(values(x.grad()), Values{3 * 13});
}

TEST(HooksTest, BelongToTheirOutputOfALayer) {
  struct Two : Function<Two> {
    static std::pair<Tensor, Tensor> forward(Context&, const Tensor& x) { return {x * 1, x * 2}; }
    static Tensor backward(Context&, const Tensor& a, const Tensor& b) { return a + 2 * b; }
  };
  const Tensor x = leaf(1);
  const auto [a, b] = Two::apply(x);
  register_hook(b, [](const Tensor& g) { return g * 100; });
  backward(a + b);
  EXPECT_EQ(values(x.grad()), Values{201});
}

TEST(HooksTest, RunOncePerPassAndStay) {
  const Tensor x = leaf(2);
  int calls = 0;
  register_hook(x, [&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  for (int i = 1; i <= 3; ++i) {
    backward(x * x + x);  // each time a new graph and a new AccumulateGrad node
    EXPECT_EQ(calls, i);
  }
  grad({x * 2}, {x});
  EXPECT_EQ(calls, 4);
}

TEST(HooksTest, ShowInWhatGradReturns) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  register_hook(x, [](const Tensor& g) { return g * 10; });
  register_hook(h, [](const Tensor& g) { return g * 100; });
  const auto grads = grad({h * 1}, {x, h});
  EXPECT_EQ(values(grads[0]), Values{3000});
  EXPECT_EQ(values(grads[1]), Values{100});
}

TEST(HooksTest, AreRemovedByTheirHandle) {
  const Tensor x = leaf(1);
  int first = 0;
  int second = 0;
  HookHandle a = register_hook(x, [&](const Tensor&) { return ++first, Tensor(); });
  HookHandle b = register_hook(x, [&](const Tensor&) { return ++second, Tensor(); });
  backward(x * 1);
  a.remove();
  backward(x * 1);
  a.remove();  // removing twice does nothing
  b.remove();
  backward(x * 1);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(HooksTest, MayRemoveThemselvesAndAddOthersWhileTheyRun) {
  const Tensor x = leaf(1);
  std::optional<HookHandle> handle;
  int own = 0;
  int added = 0;
  handle = register_hook(x, [&](const Tensor&) {
    ++own;
    handle->remove();
    register_hook(x, [&](const Tensor&) { return ++added, Tensor(); });
    return Tensor();
  });
  backward(x * 1);
  EXPECT_EQ(added, 0) << "those that were there run";
  backward(x * 1);
  EXPECT_EQ(own, 1);
  EXPECT_EQ(added, 1);
}

TEST(HooksTest, MayDropTheirTensor) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  Tensor h = x * 3;
  Tensor y = h * 2;
  register_hook(h, [&](const Tensor&) {
    h = Tensor();
    y = Tensor();
    return Tensor();
  });
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{6});
}

TEST(HooksTest, HandlesOutliveTheGraph) {
  std::optional<HookHandle> handle;
  auto alive = std::make_shared<int>();
  {
    const Tensor h = leaf(1) * 1;
    handle = register_hook(h, [alive](const Tensor&) { return Tensor(); });
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1) << "the hook was freed with the graph";
  handle->remove();
}

TEST(HooksTest, AWrongShapeIsAValueError) {
  const Tensor x = leaf({1, 2});
  const HookHandle handle = register_hook(x, [](const Tensor& g) { return sum(g); });
  const std::string message = message_of<ValueError>([&] { backward(sum(x)); });
  EXPECT_TRUE(
      contains(message, "[register_hook] a hook returned float32[] on cpu for a gradient that is float32[2] on cpu"));
  EXPECT_FALSE(x.grad().defined());
}

TEST(HooksTest, AnotherDTypeIsCastForTheLeaf) {
  const Tensor x = leaf({1, 2});
  register_hook(x, [](const Tensor& g) { return cast(g * 3, DType::Float64); });
  backward(sum(x));
  EXPECT_EQ(x.grad().dtype(), DType::Float32);
  EXPECT_EQ(values(x.grad()), (Values{3, 3}));
}

TEST(HooksTest, AnExceptionComesOutAndTheNextPassIsClean) {
  const Tensor x = leaf(1);
  HookHandle handle = register_hook(x, [](const Tensor&) -> Tensor { throw std::domain_error("hook"); });
  const Tensor y = Cube::apply(x);
  EXPECT_THROW(backward(y, {}, true), std::domain_error);
  handle.remove();
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{3});
}

TEST(HooksTest, NeedATensorThatWantsAGradient) {
  EXPECT_THROW(register_hook(scalar(1), [](const Tensor& g) { return g; }), RuntimeError);
}

TEST(HooksTest, AreRecordedWithThePass) {
  const Tensor x = leaf(3);
  const Tensor h = x * 1;
  HookHandle handle = register_hook(h, [](const Tensor& g) { return g * g; });
  const Tensor dx = grad({h * h}, {x}, {.create_graph = true})[0];  // (2h)^2
  EXPECT_EQ(values(dx), Values{36});
  handle.remove();
  EXPECT_EQ(values(grad({dx}, {x})[0]), Values{24});  // 8h
}

TEST(HooksTest, OnALeafLiveAsLongAsTheTensor) {
  auto alive = std::make_shared<int>();
  {
    const Tensor x = leaf(1);
    register_hook(x, [alive](const Tensor&) { return Tensor(); });
    backward(x * 1);
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace lamella::test
