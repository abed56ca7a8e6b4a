#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "tests/cpp/engine/autograd/support.h"

// Tests hooks on nodes and after accumulation, and the order of all kinds of hooks.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::HookHandle;
using autograd::register_hook;
using autograd::register_post_accumulate_grad_hook;
using autograd::register_posthook;
using autograd::register_prehook;
using autograd::retain_grad;
using Log = std::vector<std::string>;

/// x * 3; logs when its backward runs.
struct Logged : Function<Logged> {
  static inline Log* log = nullptr;
  static Tensor forward(Context&, const Tensor& x) { return x * 3; }
  static Tensor backward(Context&, const Tensor& dy) {
    log->push_back("run");
    return dy * 3;
  }
};

/// Layer with two outputs, so that a hook may see one of them without a gradient.
struct Two : Function<Two> {
  static std::pair<Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    ctx.set_materialize_grads(false);
    return {x * 1, x * 2};
  }
  static Tensor backward(Context&, const Tensor& a, const Tensor& b) {
    if (!b.defined()) return a;
    return a.defined() ? a + 2 * b : 2 * b;
  }
};

TensorList one(const Tensor& x) {
  TensorList list;
  list.push_back(x);
  return list;
}

TEST(HookOrderTest, IsThatOfTheDocumentation) {
  Log log;
  Logged::log = &log;
  const Tensor x = leaf(2);
  const Tensor h = Logged::apply(x);
  register_post_accumulate_grad_hook(x, [&](const Tensor& leaf) {
    EXPECT_TRUE(leaf.same(x));
    EXPECT_EQ(values(x.grad()), Values{1500});
    log.push_back("accumulated");
  });
  register_posthook(*h.grad_fn(), [&](const TensorList& in, const TensorList& out) {
    EXPECT_EQ(values(in[0]), Values{1500});
    EXPECT_EQ(values(out[0]), Values{500});
    log.push_back("post");
    return std::nullopt;
  });
  register_prehook(*h.grad_fn(), [&](const TensorList& out) {
    EXPECT_EQ(values(h.grad()), Values{50}) << "kept after all hooks of the tensor, before those of the node";
    log.push_back("pre");
    return std::optional(one(out[0] * 10));
  });
  retain_grad(h);
  register_hook(h, [&](const Tensor& g) {
    EXPECT_FALSE(h.grad().defined());
    log.push_back("tensor");
    return g * 10;
  });
  register_hook(x, [&](const Tensor&) { return log.push_back("leaf"), Tensor(); });
  backward(h * 5);
  EXPECT_EQ(log, (Log{"tensor", "pre", "run", "post", "leaf", "accumulated"}));
}

TEST(HookOrderTest, WhatGradReturnsIsCapturedAfterTheTensorsAndBeforeTheNodes) {
  Log log;
  Logged::log = &log;
  const Tensor x = leaf(2);
  const Tensor h = Logged::apply(x);
  int runs = 0;
  register_hook(h, [](const Tensor& g) { return g * 10; });
  register_prehook(*h.grad_fn(), [&](const TensorList& out) { return ++runs, std::optional(one(out[0] * 100)); });
  register_post_accumulate_grad_hook(x, [&](const Tensor&) { ++runs; });
  EXPECT_EQ(values(grad({h * 1}, {h}, {.retain_graph = true})[0]), Values{10});
  EXPECT_EQ(runs, 0) << "the node did not run, and nothing was accumulated";
  const auto grads = grad({h * 1}, {h, x});
  EXPECT_EQ(values(grads[0]), Values{10});
  EXPECT_EQ(values(grads[1]), Values{3000});
  EXPECT_EQ(runs, 1);
}

TEST(NodeHooksTest, ChangeGradientsInTheOrderOfRegistration) {
  const Tensor x = leaf(1);
  const Tensor h = x * 2;
  register_prehook(*h.grad_fn(), [](const TensorList& out) { return std::optional(one(out[0] + 1)); });
  register_prehook(*h.grad_fn(), [](const TensorList& out) { return std::optional(one(out[0] * 10)); });
  register_posthook(*h.grad_fn(), [](const TensorList& in, const TensorList&) {
    TensorList changed = in;
    changed[0] = in[0] + 1;
    return std::optional(changed);
  });
  backward(h * 3);
  EXPECT_EQ(values(x.grad()), Values{(3 + 1) * 10 * 2 + 1});
}

TEST(NodeHooksTest, SeeNothingWhereThereIsNoGradient) {
  const Tensor x = leaf(1);
  const auto [a, b] = Two::apply(x);
  int calls = 0;
  register_prehook(*a.grad_fn(), [&](const TensorList& out) {
    EXPECT_EQ(out.size(), 2U);
    EXPECT_TRUE(out[0].defined());
    EXPECT_FALSE(out[1].defined());
    ++calls;
    TensorList changed = out;
    changed[1] = scalar(10);  // allowed in place of an undefined gradient, as the layer knows the output's shape
    return std::optional(changed);
  });
  backward(a);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(values(x.grad()), Values{21});
}

TEST(NodeHooksTest, RefuseWhatDoesNotFit) {
  struct Case {
    const char* what;
    TensorList given;
    const char* message;
  };
  TensorList two = one(vec({1, 2}));
  two.push_back(vec({1, 2}));
  const Case cases[] = {
      {"a shape", one(scalar(1)), "a hook returned float32[] on cpu for a gradient that is float32[2] on cpu"},
      {"a number", two, "a hook returned 2 gradients in the place of 1"},
      {"a dtype", one(cast(vec({1, 2}), DType::Complex64)), "return its real part"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Tensor x = leaf({1, 2});
    const Tensor h = exp(x);
    HookHandle handle = register_prehook(*h.grad_fn(), [&](const TensorList&) { return std::optional(c.given); });
    EXPECT_TRUE(contains(message_of<Error>([&] { backward(sum(h), {}, true); }), c.message));
    handle.remove();
    handle =
        register_posthook(*h.grad_fn(), [&](const TensorList&, const TensorList&) { return std::optional(c.given); });
    EXPECT_TRUE(contains(message_of<Error>([&] { backward(sum(h), {}, true); }), c.message));
    handle.remove();
    backward(sum(h));
    EXPECT_TRUE(x.grad().defined());
  }
}

TEST(NodeHooksTest, AnotherDTypeIsCastToTheGradients) {
  // A replaced gradient keeps its tensor's dtype, as kernels of the following nodes read it in that dtype.
  const Tensor x = leaf({1, 2});
  const Tensor h = x * x;
  register_hook(h, [](const Tensor& g) { return cast(g * 3, DType::Float64); });
  register_prehook(*h.grad_fn(), [](const TensorList& out) {
    EXPECT_EQ(out[0].dtype(), DType::Float32);
    return std::optional(one(cast(out[0], DType::Int64)));
  });
  backward(sum(h));
  EXPECT_EQ(values(x.grad()), (Values{6, 12}));
}

TEST(NodeHooksTest, AGradientWhereThereWasNoneNeedsAKnownShape) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * vec({1, 2});  // the second operand wants no gradient
  register_posthook(*h.grad_fn(), [](const TensorList& in, const TensorList&) {
    EXPECT_FALSE(in[1].defined());
    TensorList changed = in;
    changed[1] = scalar(1);
    return std::optional(changed);
  });
  EXPECT_THROW(backward(sum(h)), ValueError);
}

TEST(NodeHooksTest, MayRemoveThemselvesAddOthersAndThrow) {
  const Tensor x = leaf(1);
  const Tensor h = x * 2;
  const Ref<Node> node = h.grad_fn();
  Log log;
  std::optional<HookHandle> own;
  own = register_prehook(*node, [&](const TensorList&) -> std::optional<TensorList> {
    log.push_back("first");
    own->remove();
    register_prehook(*node, [&](const TensorList&) -> std::optional<TensorList> {
      log.push_back("second");
      throw std::domain_error("on purpose");
    });
    return std::nullopt;
  });
  backward(h, {}, true);
  EXPECT_EQ(log, Log{"first"});
  EXPECT_THROW(backward(h, {}, true), std::domain_error);
  EXPECT_EQ(log, (Log{"first", "second"}));
  EXPECT_EQ(values(x.grad()), Values{2}) << "what the failed pass had not reached yet stays";
}

TEST(NodeHooksTest, OnALeafsNodeAsLongAsItIsHeld) {
  const Tensor x = leaf(1);
  int calls = 0;
  {
    const Ref<Node> node = autograd::gradient_edge(x).node;
    register_posthook(*node, [&](const TensorList& in, const TensorList& out) {
      EXPECT_TRUE(in.empty());
      EXPECT_EQ(values(out[0]), Values{5});
      return ++calls, std::nullopt;
    });
    backward(x * 5);
    EXPECT_EQ(calls, 1);
  }
  backward(x * 5);
  EXPECT_EQ(calls, 1) << "the node is gone, and its hooks with it";
}

TEST(AccumulatedHooksTest, MayDropTheGradientAndStepTheLeaf) {
  const Tensor x = leaf(1);
  const Tensor y = leaf(1);
  for (const Tensor& parameter : {x, y}) {
    register_post_accumulate_grad_hook(parameter, [](const Tensor& p) {
      const autograd::NoGrad no_grad;
      sub_(p, p.grad());
      p.set_grad({});
    });
  }
  backward(x * 3 + y * 5);
  EXPECT_EQ(values(x), Values{-2});
  EXPECT_EQ(values(y), Values{-4});
  EXPECT_FALSE(x.grad().defined());
}

TEST(AccumulatedHooksTest, AreRemovedAndBelongToLeavesOnly) {
  const Tensor x = leaf(1);
  int calls = 0;
  HookHandle handle = register_post_accumulate_grad_hook(x, [&](const Tensor&) { ++calls; });
  backward(x * 1 + x * 2);
  EXPECT_EQ(calls, 1) << "once in a pass";
  handle.remove();
  backward(x * 1);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { register_post_accumulate_grad_hook(x * 1, [](const Tensor&) {}); }),
               "use register_hook"));
  EXPECT_THROW(register_post_accumulate_grad_hook(scalar(1), [](const Tensor&) {}), RuntimeError);
}

TEST(HooksInPlaceTest, StayWithTheValueTheyWereRegisteredOn) {
  const Tensor x = leaf(2);
  const Tensor h = x * 1;
  Values before;
  Values after;
  register_hook(h, [&](const Tensor& g) { return before = values(g), Tensor(); });
  mul_(h, 10);
  register_hook(h, [&](const Tensor& g) { return after = values(g), Tensor(); });
  backward(h * 3);
  EXPECT_EQ(before, Values{30});
  EXPECT_EQ(after, Values{3});
  EXPECT_EQ(values(x.grad()), Values{30});
}

TEST(HooksInPlaceTest, OnViewsAndTheirBases) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 1;
  const Tensor v = index(h, {Slice{0, 1}});
  Values on_view;
  Values on_base;
  mul_(v, 10);
  register_hook(v, [&](const Tensor& g) { return on_view = values(g), Tensor(); });
  register_hook(h, [&](const Tensor& g) { return on_base = values(g), Tensor(); });
  backward(sum(h) + sum(v));
  EXPECT_EQ(on_view, Values{1}) << "of the view's own uses";
  EXPECT_EQ(on_base, (Values{2, 1}));
  EXPECT_EQ(values(x.grad()), (Values{20, 1}));
}

}  // namespace
}  // namespace lamella::test
