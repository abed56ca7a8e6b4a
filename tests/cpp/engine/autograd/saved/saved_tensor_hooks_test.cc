#include "engine/autograd/saved/saved_tensor_hooks.h"

#include <gtest/gtest.h>

#include <any>

#include "tests/cpp/engine/autograd/support.h"

// Tests pairs of functions that saved tensors go through.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::SavedTensorHooksScope;

/// Pair that counts its calls and keeps copies.
struct Copies {
  int packed = 0;
  int unpacked = 0;
  autograd::PackFunction pack = [this](const Tensor& x) -> std::any {
    EXPECT_FALSE(autograd::is_grad_enabled());
    EXPECT_FALSE(x.requires_grad()) << "pack gets tensors off the tape";
    ++packed;
    return clone(x);
  };
  autograd::UnpackFunction unpack = [this](const std::any& value) {
    EXPECT_FALSE(autograd::is_grad_enabled());
    ++unpacked;
    return std::any_cast<const Tensor&>(value);
  };
};

TEST(SavedTensorHooksTest, ApplyToOperatorsAndLayersAlike) {
  const NoLeak no_leak;
  Copies copies;
  const Tensor x = leaf({2, 3});
  Tensor y;
  {
    const SavedTensorHooksScope hooks(copies.pack, copies.unpack);
    y = sum(Cube::apply(x) * x);
  }
  EXPECT_EQ(copies.packed, 3) << "the layer's input, and both of the product's";
  backward(y);
  EXPECT_EQ(copies.unpacked, 3);
  EXPECT_EQ(values(x.grad()), (Values{32, 108}));
}

TEST(SavedTensorHooksTest, TheInnermostPairIsUsedAlone) {
  Copies outer, inner;
  const Tensor x = leaf(2);
  const SavedTensorHooksScope hooks(outer.pack, outer.unpack);
  Tensor y;
  {
    const SavedTensorHooksScope more(inner.pack, inner.unpack);
    y = x * x;
  }
  y = y * y;
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{32});
  EXPECT_EQ(inner.packed, 2);
  EXPECT_EQ(outer.packed, 2);
}

TEST(SavedTensorHooksTest, DoNotApplyToWhatTheyDoThemselves) {
  int packed = 0;
  const Tensor x = leaf(2);
  const SavedTensorHooksScope hooks(
      [&](const Tensor& t) -> std::any {
        ++packed;
        const autograd::EnableGrad recording;
        const Tensor w = leaf(1);
        backward(w * w);
        return t;
      },
      [](const std::any& value) {
        const autograd::EnableGrad recording;
        const Tensor w = leaf(1);
        backward(w * w);
        return std::any_cast<const Tensor&>(value);
      });
  backward(x * x);
  EXPECT_EQ(values(x.grad()), Values{4});
  EXPECT_EQ(packed, 2);
}

TEST(SavedTensorHooksTest, HigherDerivativesGoThroughPackedTensors) {
  const NoLeak no_leak;
  Copies copies;
  const Tensor x = leaf(2);
  const Tensor w = leaf(3);
  const SavedTensorHooksScope hooks(copies.pack, copies.unpack);
  const Tensor h = x * w;               // no leaf
  const Tensor y = exp(h - h) * h * h;  // inputs and an output that were saved
  const auto first = grad({y}, {x, w}, {.create_graph = true});
  EXPECT_EQ(values(first[0]), Values{36});  // 2 x w^2
  EXPECT_EQ(values(first[1]), Values{24});
  const auto second = grad({first[0]}, {x, w}, {.create_graph = true});
  EXPECT_EQ(values(second[0]), Values{18});
  EXPECT_EQ(values(second[1]), Values{24});
  EXPECT_EQ(values(grad({second[0]}, {w})[0]), Values{12});
}

TEST(SavedTensorHooksTest, ResultsAreChecked) {
  const Tensor x = leaf({2, 3});
  const auto with = [&](autograd::UnpackFunction unpack) {
    return [&x, unpack] {
      const SavedTensorHooksScope hooks([](const Tensor& t) -> std::any { return t; }, unpack);
      backward(sum(x * x));
    };
  };
  EXPECT_TRUE(contains(message_of<TypeError>(with([](const std::any&) { return Tensor(); })),
                       "[multiply] unpack of saved_tensors_hooks returned no tensor for saved tensor 0"));
  EXPECT_TRUE(contains(message_of<ValueError>(with([](const std::any&) { return vec({1, 2, 3}); })),
                       "returned float32[3] on cpu for saved tensor 0, which was float32[2] on cpu"));
  EXPECT_TRUE(contains(message_of<ValueError>(with(
                           [](const std::any& t) { return cast(std::any_cast<const Tensor&>(t), DType::Float64); })),
                       "float64[2]"));
  EXPECT_FALSE(x.grad().defined());
}

TEST(SavedTensorHooksTest, PackMustNotWrite) {
  const Tensor x = leaf(2) * 1;
  const SavedTensorHooksScope hooks(
      [](const Tensor& t) -> std::any {
        add_(t, scalar(1));
        return t;
      },
      [](const std::any& t) { return std::any_cast<const Tensor&>(t); });
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { exp(x); }), "pack wrote into the tensor"));
}

TEST(SavedTensorHooksTest, AWriteIsFoundWherePackKeptTheMemory) {
  const Tensor x = leaf(2) * 1;
  const SavedTensorHooksScope hooks([](const Tensor& t) -> std::any { return t; },
                                    [](const std::any& t) { return std::any_cast<const Tensor&>(t); });
  const Tensor y = x * x;
  {
    const autograd::NoGrad no_grad;
    add_(x, scalar(1));
  }
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(y); }), "was overwritten"));
}

TEST(SavedTensorHooksTest, AFreedGraphSaysSo) {
  Copies copies;
  const Tensor x = leaf(2);
  const SavedTensorHooksScope hooks(copies.pack, copies.unpack);
  const Tensor y = x * x;
  backward(y);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(y); }), "were freed by an earlier backward pass"));
}

TEST(SavedTensorHooksTest, CanBeForbidden) {
  Copies copies;
  const autograd::DisableSavedTensorHooks disabled("not here");
  EXPECT_EQ(message_of<RuntimeError>([&] { const SavedTensorHooksScope hooks(copies.pack, copies.unpack); }),
            "not here");
}

TEST(SavedTensorHooksTest, ForbiddingThemInsideIsAnError) {
  Copies copies;
  const SavedTensorHooksScope hooks(copies.pack, copies.unpack);
  EXPECT_EQ(message_of<RuntimeError>([] { const autograd::DisableSavedTensorHooks disabled("not here"); }), "not here");
}

TEST(SaveOnCpuTest, KeepsWhatIsThere) {
  const NoLeak no_leak;
  const Tensor x = leaf({2, 3});
  const std::int64_t before = live_bytes();
  Tensor y;
  {
    const autograd::SaveOnCpu hooks;
    y = sum(x * x);
  }
  EXPECT_LT(live_bytes() - before, 4096);
  backward(y);
  EXPECT_EQ(values(x.grad()), (Values{4, 6}));
}

}  // namespace
}  // namespace lamella::test
