#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <thread>

#include "tests/cpp/engine/autograd/support.h"

// Tests inference mode: tensors made in it stay off the tape for ever.

namespace lamella::test {
namespace {

using autograd::EnableGrad;
using autograd::InferenceMode;
using autograd::is_grad_enabled;
using autograd::is_inference_mode_enabled;

bool is_inference(const Tensor& x) { return (x->flags & TensorImpl::kInference) != 0; }

Tensor made_inside() {
  const InferenceMode scope;
  return vec({1, 2}) * 2;
}

TEST(InferenceTest, ScopesNestAndBelongToTheThread) {
  {
    const InferenceMode on;
    EXPECT_TRUE(is_inference_mode_enabled());
    EXPECT_FALSE(is_grad_enabled());
    std::thread([] { EXPECT_FALSE(is_inference_mode_enabled()); }).join();
    {
      const InferenceMode off(false);
      EXPECT_FALSE(is_inference_mode_enabled());
      EXPECT_TRUE(is_grad_enabled());
      EXPECT_TRUE((leaf(1) * 2).requires_grad());
    }
    EXPECT_TRUE(is_inference_mode_enabled());
    EXPECT_FALSE(is_grad_enabled());
  }
  EXPECT_FALSE(is_inference_mode_enabled());
  EXPECT_TRUE(is_grad_enabled());
}

TEST(InferenceTest, NothingSwitchesRecordingOnInside) {
  const Tensor x = leaf(1);
  const InferenceMode scope;
  const EnableGrad on;
  EXPECT_FALSE(is_grad_enabled());
  const Tensor y = x * 2;
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(is_inference(y));
}

TEST(InferenceTest, ViewsAreWhatTheirBaseIs) {
  const Tensor x = vec({1, 2});
  {
    const InferenceMode scope;
    EXPECT_FALSE(is_inference(index(x, {Slice{0, 1}})));
    EXPECT_TRUE(is_inference(index(x * 2, {Slice{0, 1}})));
    EXPECT_TRUE(is_inference(clone(x)));
  }
  const Tensor inside = made_inside();
  EXPECT_TRUE(is_inference(index(inside, {Slice{0, 1}})));
  EXPECT_TRUE(is_inference(inside.detach()));
  EXPECT_FALSE(is_inference(clone(inside)));
}

TEST(InferenceTest, WritesInPlaceStayInside) {
  const Tensor inside = made_inside();
  for (const std::function<void()>& write : std::initializer_list<std::function<void()>>{
           [&] { add_(inside, 1); }, [&] { copy_(inside, vec({5, 6})); }, [&] { fill_(inside, 3); },
           [&] { set_index(inside, {std::int64_t{0}}, 9); }, [&] { add_(index(inside, {Slice{0, 1}}), 1); }}) {
    EXPECT_TRUE(
        contains(message_of<RuntimeError>(write), "a tensor made in inference_mode cannot be changed in place"));
  }
  EXPECT_EQ(values(inside), (Values{2, 4}));
  const InferenceMode scope;
  add_(inside, 1);
  EXPECT_EQ(values(inside), (Values{3, 5}));
}

TEST(InferenceTest, OrdinaryTensorsMayBeChangedInside) {
  const Tensor x = vec({1, 2});
  const Tensor h = leaf({1, 2}) * 1;
  const Tensor saved = exp(h * 0) * h;
  {
    const InferenceMode scope;
    add_(x, 1);
    add_(h, 1);
  }
  add_(x, 1);
  EXPECT_EQ(values(x), (Values{3, 4}));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { autograd::backward(sum(saved)); }), "was overwritten"))
      << "such a change is noticed as any other";
}

TEST(InferenceTest, WhatIsMadeInsideIsReadOutsideAndNotSaved) {
  const Tensor x = leaf({1, 2});
  const Tensor inside = made_inside();
  EXPECT_EQ(values(inside * vec({1, 2})), (Values{2, 8}));
  autograd::backward(sum(x + inside));
  EXPECT_EQ(values(x.grad()), (Values{1, 1}));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { return x * inside; }), "cannot be saved for backward"));
  autograd::backward(sum(x * clone(inside)));
  EXPECT_EQ(values(x.grad()), (Values{3, 5}));
}

TEST(InferenceTest, WantsAGradientInsideOnly) {
  const Tensor inside = made_inside();
  EXPECT_THROW(inside.set_requires_grad(true), RuntimeError);
  inside.set_requires_grad(false);
  const InferenceMode scope;
  inside.set_requires_grad(true);
  EXPECT_TRUE(inside.requires_grad());
  EXPECT_FALSE((inside * 2).requires_grad());
}

TEST(InferenceTest, APassInsideMakesOrdinaryTensors) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 3;
  const Tensor y = sum(h * h);
  Tensor dx;
  {
    const InferenceMode scope;
    autograd::backward(std::span(&y, 1), {}, true, false, std::span(&h, 1));
    autograd::backward(y, {}, true);
    dx = autograd::grad({y}, {x}, {.create_graph = true})[0];
    EXPECT_TRUE(is_inference_mode_enabled());
  }
  EXPECT_EQ(values(h.grad()), (Values{6, 12}));
  for (const Tensor& made : {h.grad(), x.grad(), dx}) EXPECT_FALSE(is_inference(made));
  add_(x.grad(), 1);
  EXPECT_EQ(values(autograd::grad({sum(dx)}, {x})[0]), (Values{18, 18}));
}

}  // namespace
}  // namespace lamella::test
