#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/running_pass.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests the targets of a pass (inputs by tensor, edges), and what happens at its end.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::gradient_edge;
using autograd::GradTarget;
using autograd::queue_callback;
using autograd::register_hook;
using autograd::retain_grad;
using Log = std::vector<std::string>;

void backward_to(const Tensor& y, std::initializer_list<Tensor> inputs, bool retain_graph = false) {
  backward(std::span(&y, 1), {}, retain_graph, false, std::span(inputs.begin(), inputs.size()));
}

/// Layer that calls a function in its backward.
struct Calls : Function<Calls> {
  static Tensor forward(Context& ctx, const Tensor& x, std::function<void()> f) {
    ctx.state<std::function<void()>>() = std::move(f);
    return x * 1;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    ctx.state<std::function<void()>>()();
    return dy;
  }
};

TEST(BackwardInputsTest, OnlyThoseNamedGetAGradient) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const Tensor h = x * w;
  const Tensor y = h * h;
  backward_to(y, {w}, true);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(values(w.grad()), Values{24});
  backward_to(y, {h, x}, true);
  EXPECT_EQ(values(h.grad()), Values{12}) << "a result of an operation gets one too";
  EXPECT_EQ(values(x.grad()), Values{36});
  backward_to(y, {h});
  EXPECT_EQ(values(h.grad()), Values{24}) << "and adds it up";
}

TEST(BackwardInputsTest, OneNamedTwiceCountsOnce) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  backward_to(h * 5, {h, x, h, x});
  EXPECT_EQ(values(h.grad()), Values{5});
  EXPECT_EQ(values(x.grad()), Values{15});
}

TEST(BackwardInputsTest, AKeptGradientIsAddedOnce) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  backward_to(h * 5, {h}, true);
  retain_grad(h);
  EXPECT_EQ(values(h.grad()), Values{5}) << "what was there stays";
  backward_to(h * 5, {h});
  EXPECT_EQ(values(h.grad()), Values{10});
}

TEST(BackwardInputsTest, HooksOfLeavesRunAndThoseBeyondDoNot) {
  Log log;
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const Tensor h = x * w;
  register_hook(x, [&](const Tensor&) { return log.push_back("x"), Tensor(); });
  register_hook(w, [&](const Tensor& g) { return log.push_back("w"), g * 10; });
  autograd::register_post_accumulate_grad_hook(w, [&](const Tensor&) { log.push_back("w accumulated"); });
  backward_to(h * 1, {w});
  EXPECT_EQ(log, (Log{"w", "w accumulated"}));
  EXPECT_EQ(values(w.grad()), Values{20});
}

TEST(BackwardInputsTest, OneThatIsNotReachedGetsNothing) {
  const Tensor x = leaf(2);
  const Tensor other = leaf(3);
  const Tensor elsewhere = other * 2;
  backward_to(x * 5, {x, other, elsewhere});
  EXPECT_EQ(values(x.grad()), Values{5});
  EXPECT_FALSE(other.grad().defined());
  EXPECT_FALSE(elsewhere.grad().defined());
}

TEST(BackwardInputsTest, AHookMayMakeAnInputALeaf) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  const Tensor g = x * 4;
  register_hook(h, [&](const Tensor&) { return autograd::detach_in_place(h), Tensor(); });
  backward_to(h * 5 + g * 7, {h, g});
  EXPECT_EQ(values(h.grad()), Values{5});
  EXPECT_EQ(values(g.grad()), Values{7});
}

TEST(BackwardInputsTest, TheirGradientsAreThereBeforeTheCallbacks) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  Values seen;
  const Tensor y = Calls::apply(h, [&] { queue_callback([&] { seen = values(h.grad()); }); });
  backward_to(y * 5, {h});
  EXPECT_EQ(seen, Values{5});
  backward_to(Calls::apply(h, [&] { queue_callback([&] { seen = values(h.grad()); }); }), {x, h});
  EXPECT_EQ(seen, Values{6});
}

TEST(BackwardInputsTest, RefusesConstants) {
  const Tensor x = leaf(2);
  EXPECT_THROW(backward_to(x * 2, {scalar(1)}), RuntimeError);
  EXPECT_THROW(backward_to(x * 2, {Tensor()}), ValueError);
}

TEST(EdgeTest, StandsForATensorThatIsGone) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  Tensor h = x * 3;
  const Tensor y = exp(h * 0) * h;
  const std::array<GradTarget, 2> targets{gradient_edge(h), gradient_edge(x)};
  h = Tensor();
  const auto grads = grad(std::span(&y, 1), targets, {}, {.retain_graph = true});
  EXPECT_EQ(values(grads[0]), Values{1});
  EXPECT_EQ(values(grads[1]), Values{3});
  backward(std::span(&y, 1), {}, true, false, std::span(&targets[1], 1));
  EXPECT_EQ(values(x.grad()), Values{3});
  EXPECT_TRUE(
      contains(message_of<ValueError>([&] { backward(std::span(&y, 1), {}, true, false, std::span(&targets[0], 1)); }),
               "has no grad to add to"));
  const GradTarget wrong = Edge{std::get<Edge>(targets[0]).node, 7};
  EXPECT_TRUE(contains(message_of<ValueError>([&] { grad(std::span(&y, 1), std::span(&wrong, 1), {}, {}); }),
                       "edge to output 7 of multiply"));
  const GradTarget none = Edge();
  EXPECT_THROW(grad(std::span(&y, 1), std::span(&none, 1), {}, {}), ValueError);
  const Tensor unused = leaf(1);
  const GradTarget beyond = gradient_edge(unused);
  EXPECT_THROW(grad(std::span(&y, 1), std::span(&beyond, 1), {}, {.materialize_grads = true}), ValueError);
}

TEST(GradOptionsTest, UnusedInputsAreErrorsNothingOrZeros) {
  const Tensor x = leaf(2);
  const Tensor unused = leaf({1, 2});
  EXPECT_THROW(grad({x * 2}, {x, unused}), RuntimeError);
  EXPECT_FALSE(grad({x * 2}, {x, unused}, {.allow_unused = true})[1].defined());
  EXPECT_EQ(values(grad({x * 2}, {x, unused}, {.materialize_grads = true})[1]), (Values{0, 0}));
}

TEST(GradOptionsTest, RepeatedInputsAndOutputs) {
  const Tensor x = leaf(2);
  const Tensor h = x * 3;
  const auto grads = grad({h, h, x}, {x, h, x, h});
  EXPECT_EQ(values(grads[0]), Values{7});
  EXPECT_EQ(values(grads[1]), Values{2});
  EXPECT_EQ(values(grads[2]), Values{7});
  EXPECT_EQ(values(grads[3]), Values{2});
}

TEST(CallbackTest, RunAfterAllNodesInOrder) {
  Log log;
  const Tensor x = leaf(2);
  register_hook(x, [&](const Tensor&) { return log.push_back("leaf"), Tensor(); });
  const Tensor y = Calls::apply(x, [&] {
    queue_callback([&] {
      log.push_back("first");
      queue_callback([&] { log.push_back("queued by the first"); });
    });
    queue_callback([&] { log.push_back("second"); });
  });
  backward(y);
  EXPECT_EQ(log, (Log{"leaf", "first", "second", "queued by the first"}));
}

TEST(CallbackTest, APassWithinAnotherHasItsOwn) {
  Log log;
  const Tensor x = leaf(2);
  const Tensor y = Calls::apply(x, [&] {
    queue_callback([&] { log.push_back("outer"); });
    const autograd::EnableGrad recording;
    backward(Calls::apply(leaf(1), [&] { queue_callback([&] { log.push_back("inner"); }); }));
    log.push_back("after the inner pass");
  });
  backward(y);
  EXPECT_EQ(log, (Log{"inner", "after the inner pass", "outer"}));
}

TEST(CallbackTest, RunInTheModesOfTheCaller) {
  const Tensor x = leaf(2);
  std::vector<bool> recorded;
  const Tensor y = Calls::apply(x, [&] { queue_callback([&] { recorded.push_back(autograd::is_grad_enabled()); }); });
  backward(y, {}, true);
  const autograd::NoGrad no_grad;
  backward(y);
  EXPECT_EQ(recorded, (std::vector<bool>{true, false}));
}

TEST(CallbackTest, MayRunAPass) {
  const Tensor x = leaf(2);
  const Tensor w = leaf(1);
  backward(Calls::apply(x, [&] { queue_callback([&] { backward(w * 5); }); }));
  EXPECT_EQ(values(w.grad()), Values{5});
}

TEST(CallbackTest, AFailedPassDropsThem) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  int calls = 0;
  const Tensor y = Calls::apply(Calls::apply(x, [] { throw std::domain_error("on purpose"); }),
                                [&] { queue_callback([&] { ++calls; }); });
  EXPECT_THROW(backward(y, {}, true), std::domain_error);
  EXPECT_EQ(calls, 0);
  const Tensor z = Calls::apply(x, [&] {
    queue_callback([] { throw std::domain_error("on purpose"); });
    queue_callback([&] { ++calls; });
  });
  EXPECT_THROW(backward(z), std::domain_error);
  EXPECT_EQ(calls, 0);
  backward(x * 1);
  EXPECT_EQ(calls, 0);
}

TEST(CallbackTest, NeedAPass) {
  EXPECT_TRUE(contains(message_of<RuntimeError>([] { queue_callback([] {}); }), "no backward pass on this thread"));
}

TEST(FailedPassTest, LeavesNothingBehind) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  bool fail = true;
  const Tensor h = x * 2;
  const Tensor y = Calls::apply(h, [&] {
    if (fail) throw std::domain_error("on purpose");
  });
  // Gradients wait at h and at x when the pass fails.
  const Tensor loss = sum(y) + sum(h * 3) + sum(x * 4);
  for (int round = 0; round < 3; ++round) EXPECT_THROW(backward(loss, {}, true), std::domain_error);
  x.set_grad({});
  fail = false;
  backward(loss);
  EXPECT_EQ(values(x.grad()), (Values{12, 12}));
}

TEST(HigherDerivativesTest, InAnyOrder) {
  // d^k/dx^k x^5 at 2, once by grad of grad, once by backward into x.grad.
  const float expected[] = {80, 160, 240, 240, 120, 0};
  const Tensor x = leaf(2);
  Tensor y = x * x * x * x * x;
  for (const float slope : expected) {
    y = grad({y}, {x}, {.create_graph = true, .materialize_grads = true})[0];
    EXPECT_EQ(values(y), Values{slope});
    if (!y.requires_grad()) break;
  }
  Tensor z = x * x * x * x * x;
  for (const float slope : {80.0F, 160.0F, 240.0F, 240.0F}) {
    x.set_grad({});
    backward(z, {}, false, /*create_graph=*/true);
    z = x.grad();
    EXPECT_EQ(values(z), Values{slope});
  }
  x.set_grad({});
  // Mixed: d/dy d^2/dx^2 (x^3 y^2) = 12 x y.
  const Tensor w = leaf(3);
  const Tensor f = x * x * x * w * w;
  const Tensor dw = grad({f}, {w}, {.create_graph = true})[0];
  const Tensor dx = grad({f}, {x}, {.create_graph = true})[0];
  const Tensor dwdx = grad({dw}, {x}, {.create_graph = true})[0];
  const Tensor dxdw = grad({dx}, {w}, {.create_graph = true})[0];
  EXPECT_EQ(values(dwdx), values(dxdw));
  EXPECT_EQ(values(grad({dwdx}, {x}, {.retain_graph = true})[0]), Values{72});
  EXPECT_EQ(values(grad({dxdw}, {x})[0]), Values{72});
}

}  // namespace
}  // namespace lamella::test
