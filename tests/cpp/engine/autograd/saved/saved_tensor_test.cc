#include "engine/autograd/saved/saved_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <any>

#include "engine/autograd/trace/anomaly.h"
#include "engine/core/host.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests saved tensors: backward gets them back once, unchanged, while the graph lives; only forward may save.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

/// x * y, from both.
struct Product : Function<Product> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& y) {
    ctx.save_for_backward(x, y);
    return x * y;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    return {dy * y, dy * x};
  }
};

/// exp(x), from its output.
struct Exp : Function<Exp> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = exp(x);
    ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    return dy * y;
  }
};

TEST(SavedTensorTest, ComesBackInOrderAndAsTheTensorsThatWereSaved) {
  const Tensor x = leaf(2);
  const Tensor y = leaf(3);
  backward(Product::apply(x, y));
  EXPECT_EQ(values(x.grad()), Values{3});
  EXPECT_EQ(values(y.grad()), Values{2});
}

struct SavesAList : Function<SavesAList> {
  static inline std::size_t count = 0;
  template <class List>
  static Tensor forward(Context& ctx, const Tensor& x, const List* list) {
    ctx.save_for_backward(*list);
    return x * 1;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const TensorList saved = ctx.saved_tensor();
    count = saved.size();
    return {dy * saved[1]};
  }
};

TEST(SavedTensorTest, TakesListsOfAnyKindAndNone) {
  const auto check = [](const auto& list) {
    const Tensor x = leaf(1);
    backward(SavesAList::apply(x, &list));
    EXPECT_EQ(SavesAList::count, 3u);
    EXPECT_EQ(values(x.grad()), Values{5});
  };
  check(std::vector<Tensor>{Tensor(), scalar(5), scalar(6)});
  check(TensorList{Tensor(), scalar(5), scalar(6)});
}

struct SavesNone : Function<SavesNone> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x, Tensor());
    return x * 1;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, none] = ctx.saved_tensors<2>();
    EXPECT_TRUE(x.defined());
    EXPECT_FALSE(none.defined());
    return dy;
  }
};

TEST(SavedTensorTest, NoneComesBackAsNone) {
  const Tensor x = leaf(1);
  backward(SavesNone::apply(x));
  EXPECT_EQ(values(x.grad()), Values{1});
}

struct Misuses : Function<Misuses> {
  enum Way { kTwice, kInBackward, kWrongNumber };
  static Tensor forward(Context& ctx, const Tensor& x, Way way) {
    ctx.state<Way>() = way;
    ctx.save_for_backward(x);
    if (way == kTwice) ctx.save_for_backward(x);
    return x * 1;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    if (ctx.state<Way>() == kInBackward) ctx.save_for_backward(dy);
    static_cast<void>(ctx.saved_tensors<2>());
    return dy;
  }
};

TEST(SavedTensorTest, SavingTwiceOrInBackwardIsARuntimeError) {
  for (const bool wants : {true, false}) {
    const Tensor x = scalar(1).set_requires_grad(wants);
    EXPECT_TRUE(contains(message_of<RuntimeError>([&] { Misuses::apply(x, Misuses::kTwice); }),
                         "save_for_backward can be called once only"));
  }
  const Tensor y = Misuses::apply(leaf(1), Misuses::kInBackward);
  EXPECT_EQ(message_of<RuntimeError>([&] { backward(y); }),
            "[Misuses] save_for_backward can only be called in forward");
}

TEST(SavedTensorTest, AnotherNumberThanWasSavedIsARuntimeError) {
  const Tensor y = Misuses::apply(leaf(1), Misuses::kWrongNumber);
  EXPECT_EQ(message_of<RuntimeError>([&] { backward(y); }), "[Misuses] 1 tensors were saved, not 2");
}

TEST(SavedTensorTest, AFreedGraphSaysHowToKeepIt) {
  const Tensor x = leaf(2);
  const Tensor y = Cube::apply(x);
  backward(y);
  const std::string message = message_of<RuntimeError>([&] { backward(y); });
  EXPECT_TRUE(contains(message, "[Cube]"));
  EXPECT_TRUE(contains(message, "pass retain_graph=True"));
  EXPECT_EQ(values(x.grad()), Values{12}) << "the failed pass changed nothing";
}

TEST(SavedTensorTest, RetainGraphGivesTheSameAgain) {
  const Tensor x = leaf(2);
  const Tensor y = Cube::apply(x);
  for (int i = 1; i <= 4; ++i) {
    backward(y, {}, /*retain_graph=*/true);
    EXPECT_EQ(values(x.grad()), Values{12.0F * static_cast<float>(i)});
  }
}

TEST(SavedTensorTest, ALayerThatSavesNothingRunsAgain) {
  const Tensor x = leaf(2);
  const Tensor y = Identity::apply(x);
  backward(y);
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{2});
}

TEST(SavedTensorTest, AnOverwrittenInputNamesTheLayerThePositionAndTheWriter) {
  const Tensor x = leaf(1);
  const Tensor y = vec({1, 2});
  const Tensor z = Product::apply(x, y);
  fill_(y, 3);
  const std::string message = message_of<RuntimeError>([&] { backward(sum(z)); });
  EXPECT_TRUE(contains(message, "[Product] saved tensor 1 (float32[2] on cpu)"));
  EXPECT_TRUE(contains(message, "was overwritten by fill_"));
  EXPECT_TRUE(contains(message, "clone()"));
  EXPECT_FALSE(x.grad().defined());
}

TEST(SavedTensorTest, AnOverwrittenOutputOrViewIsFoundToo) {
  const Tensor x = leaf({1, 2});
  const Tensor y = Exp::apply(x);
  fill_(y.detach(), 0);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(sum(y)); }), "[Exp] saved tensor 0"));

  const Tensor w = vec({1, 2, 3});
  const Tensor z = Product::apply(leaf({1, 1, 1}), w);
  add_(make_view(w, Dims{1}, Dims{1}, 2), 1);
  EXPECT_THROW(backward(sum(z)), RuntimeError) << "a write into a part, through a view";
}

TEST(SavedTensorTest, WritesBeforeSavingDoNotCount) {
  const Tensor y = vec({1, 2});
  fill_(y, 3);
  const Tensor x = leaf({1, 1});
  backward(sum(Product::apply(x, y)));
  EXPECT_EQ(values(x.grad()), (Values{3, 3}));
}

/// Installs a host language whose current line is `line` of layers.py.
class FakeHost {
 public:
  FakeHost() {
    host_hooks().current_line = [] { return SourceLine{"layers.py", line}; };
  }
  ~FakeHost() { host_hooks().current_line = nullptr; }
  static inline std::int32_t line = 0;
};

TEST(SavedTensorTest, TheMessageHasTheLinesOfBoth) {
  const FakeHost host;
  FakeHost::line = 10;
  const Tensor y = vec({1, 2});
  const Tensor z = Product::apply(leaf({1, 1}), y);
  FakeHost::line = 25;
  mul_(y, 2);
  FakeHost::line = 99;
  const std::string message = message_of<RuntimeError>([&] { backward(sum(z)); });
  EXPECT_TRUE(contains(message, "saved at layers.py:10"));
  EXPECT_TRUE(contains(message, "overwritten by mul_ at layers.py:25"));
}

TEST(SavedTensorTest, OfAnOperatorTheLineIsToldUnderTrace) {
  struct Host {
    Host() {
      host_hooks().stack = [](HostFrame* frames, std::size_t) {
        frames[0] = {"model.py", "f", 10};
        return std::size_t{1};
      };
    }
    ~Host() { host_hooks().stack = nullptr; }
  };
  const auto overwritten = [](bool traced) {
    const Tensor y = vec({1, 2});
    Tensor z;
    {
      const Host host;
      const autograd::Trace trace(traced);
      z = leaf({1, 1}) * y;
    }
    fill_(y, 3);
    return message_of<RuntimeError>([&] { backward(sum(z)); });
  };
  EXPECT_TRUE(contains(overwritten(true),
                       "[multiply] saved tensor 0 (float32[2] on cpu), saved at model.py:10, was overwritten by fill_: "
                       "it is at version 1, and version 0 was saved; write into a copy instead (clone())"));
  EXPECT_TRUE(
      contains(overwritten(false),
               "[multiply] saved tensor 0 (float32[2] on cpu) was overwritten by fill_: it is at version 1, and "
               "version 0 was saved; write into a copy instead (clone()); compute it under "
               "lamella.autograd.trace() to learn where it was saved"));
}

TEST(SavedTensorTest, ReadingInForwardGivesWhatWasSaved) {
  struct Reads : Function<Reads> {
    static Tensor forward(Context& ctx, const Tensor& x) {
      ctx.save_for_backward(x);
      EXPECT_EQ(ctx.saved_tensors().size(), ctx.recording() ? 1u : 0u);
      return x * 1;
    }
    static Tensor backward(Context&, const Tensor& dy) { return dy; }
  };
  EXPECT_EQ(values(Reads::apply(leaf(4))), Values{4});
  EXPECT_EQ(values(Reads::apply(scalar(4))), Values{4});
}

TEST(SavedTensorTest, ThePlainDataOfTheContextLivesFromForwardToBackward) {
  struct Keeps : Function<Keeps> {
    static Tensor forward(Context& ctx, const Tensor& x, double factor) {
      ctx.saved_data()["factor"] = factor;
      return x * factor;
    }
    static Tensor backward(Context& ctx, const Tensor& dy) {
      return dy * std::any_cast<double>(ctx.saved_data().at("factor"));
    }
  };
  const Tensor x = leaf(1);
  const Tensor y = Keeps::apply(x, 3.0);
  backward(y, {}, true);
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{6});
}

// Second derivatives
// ---------------------------------------------------------------------------------------------------------------------

/// Returns d2/dx2 of f at x, by two passes.
template <class F>
Tensor second_derivative(F f, const Tensor& x) {
  const Tensor y = f(x);
  const Tensor dx = grad({y}, {x}, {.create_graph = true})[0];
  return grad({dx}, {x})[0];
}

TEST(DoubleBackwardTest, IsRightThroughASavedInput) {
  const Tensor x = leaf(5);
  const Tensor dx = grad({Cube::apply(x)}, {x}, {.create_graph = true})[0];
  const Tensor ddx = grad({dx}, {x}, {.create_graph = true})[0];
  const Tensor dddx = grad({ddx}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(dx), Values{75});
  EXPECT_EQ(values(ddx), Values{30});
  EXPECT_EQ(values(dddx), Values{6});
}

TEST(DoubleBackwardTest, IsRightThroughASavedOutput) {
  const Tensor x = leaf(0);
  EXPECT_EQ(values(second_derivative(Exp::apply<const Tensor&>, x)), Values{1});
  // exp(2x): the second derivative is 4 exp(2x), through an input that is itself computed.
  EXPECT_EQ(values(second_derivative([](const Tensor& t) { return Exp::apply(t * 2); }, x)), Values{4});
}

TEST(DoubleBackwardTest, ThroughASavedIntermediateIsAnErrorAndNotAWrongNumber) {
  const Tensor x = leaf(3);
  backward(FromIntermediate::apply(x));
  EXPECT_EQ(values(x.grad()), Values{24}) << "the first derivative is right";
  const std::string by_grad =
      message_of<RuntimeError>([&] { second_derivative(FromIntermediate::apply<const Tensor&>, x); });
  EXPECT_TRUE(contains(by_grad, "Save inputs or outputs"));
  const Tensor dx = grad({FromIntermediate::apply(x)}, {x}, {.create_graph = true})[0];
  EXPECT_THROW(backward(dx), RuntimeError) << "by backward(), too";
}

TEST(DoubleBackwardTest, AnIntermediateDoesNotDisturbOtherInputs) {
  // The second derivative with respect to w exists: no path to w passes through the intermediate.
  const Tensor x = leaf(3);
  const Tensor w = leaf(2);
  const Tensor dx = grad({FromIntermediate::apply(x)}, {x}, {.create_graph = true})[0];
  const Tensor loss = dx + w * w;
  EXPECT_EQ(values(grad({loss}, {w}, {.retain_graph = true})[0]), Values{4});
  EXPECT_THROW(grad({loss}, {x}), RuntimeError);
}

/// relu, from a mask.
struct Masked : Function<Masked> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    const Tensor mask = x > 0;
    ctx.save_for_backward(mask);
    return where(mask, x, 0);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [mask] = ctx.saved_tensors<1>();
    return where(mask, dy, 0);
  }
};

TEST(DoubleBackwardTest, IsRightThroughAConstantMask) {
  const Tensor x = leaf({-1, 2});
  // relu(x)^2: the second derivative is 2 where x > 0.
  const Tensor y = Masked::apply(x);
  const Tensor dx = grad({sum(y * y)}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(grad({sum(dx)}, {x})[0]), (Values{0, 2}));
}

/// x^2 as a layer that calls a layer in its forward, and another in its backward.
struct Outer : Function<Outer> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return Cube::apply(x) * 2;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return Product::apply(6 * x * x, dy);
  }
};

TEST(DoubleBackwardTest, IsRightThroughNestedLayers) {
  const Tensor x = leaf(3);
  EXPECT_EQ(values(second_derivative(Outer::apply<const Tensor&>, x)), Values{36});
  EXPECT_EQ(values(second_derivative([](const Tensor& t) { return Outer::apply(Cube::apply(t)); }, leaf(1))),
            Values{2 * 9 * 8});
}

/// (2x)^2 saved from an intermediate like FromIntermediate, but the intermediate is the result of a layer that works on
/// raw memory and leaves no trace of its own.
struct RawTwice : Function<RawTwice> {
  static Tensor forward(Context&, const Tensor& x) {
    Tensor y = empty_like(x);
    for (std::int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = 2 * x.data<float>()[i];
    return y;
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy * 2; }
};
struct FromRawIntermediate : Function<FromRawIntermediate> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    const Tensor twice = RawTwice::apply(x);
    ctx.save_for_backward(twice);
    return twice * twice;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [twice] = ctx.saved_tensors<1>();
    return dy * 4 * twice;
  }
};

TEST(DoubleBackwardTest, TheResultOfANestedLayerIsAnIntermediate) {
  EXPECT_THROW(second_derivative(FromRawIntermediate::apply<const Tensor&>, leaf(3)), RuntimeError);
}

/// Keeps a tensor outside of the context, as a Python layer keeps attributes.
struct KeepsBeside : Function<KeepsBeside> {
  enum What { kInput, kOutput, kIntermediate, kDetached };
  static inline Tensor kept;
  static Tensor forward(Context&, const Tensor& x, What what) {
    const Tensor twice = x * 2;
    Tensor y = twice * twice;
    kept = what == kInput ? x : what == kOutput ? y : what == kIntermediate ? twice : twice.detach();
    return y;
  }
  // Returns dy * kept, so that its derivative shows how `kept` is treated.
  static Tensor backward(Context&, const Tensor& dy) { return dy * kept; }
};

TEST(DoubleBackwardTest, WhatIsKeptBesideTheContextCountsToo) {
  const auto second = [](KeepsBeside::What what) {
    return second_derivative([what](const Tensor& x) { return KeepsBeside::apply(x, what); }, leaf(3));
  };
  EXPECT_EQ(values(second(KeepsBeside::kInput)), Values{1});
  EXPECT_EQ(values(second(KeepsBeside::kOutput)), Values{36}) << "d(y)/dx by the layer's own rule: dy * y";
  EXPECT_THROW(second(KeepsBeside::kIntermediate), RuntimeError);
  const Tensor x = leaf(3);
  const Tensor dx =
      grad({KeepsBeside::apply(x, KeepsBeside::kDetached)}, {x}, {.create_graph = true, .allow_unused = true})[0];
  EXPECT_FALSE(dx.requires_grad()) << "detach() asks for a constant";
  KeepsBeside::kept = Tensor();
}

/// Returns a float mask as a second output, saved and marked.
struct WithMask : Function<WithMask> {
  static std::pair<Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    Tensor mask = cast(x > 0, x.dtype());
    Tensor y = x * mask;
    ctx.save_for_backward(mask);
    ctx.mark_non_differentiable(mask);
    return {y, mask};
  }
  static Tensor backward(Context& ctx, const Tensor& dy, const Tensor& dmask) {
    EXPECT_EQ(values(dmask), (Values{0, 0})) << "nothing flows back through a marked output";
    const auto [mask] = ctx.saved_tensors<1>();
    EXPECT_FALSE(mask.requires_grad());
    return dy * mask;
  }
};

TEST(DoubleBackwardTest, ASavedOutputThatIsNotDifferentiableIsAConstant) {
  const Tensor x = leaf({-1, 2});
  const auto [y, mask] = WithMask::apply(x);
  EXPECT_FALSE(mask.requires_grad());
  const Tensor dx = grad({sum(y * y)}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(dx), (Values{0, 4}));
  EXPECT_EQ(values(grad({sum(dx)}, {x})[0]), (Values{0, 2}));
}

/// x^3, forward and backward on raw memory.
struct RawCube : Function<RawCube> {
  static constexpr bool kOnceDifferentiable = true;
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return map(x, [](float v) { return v * v * v; });
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    EXPECT_FALSE(autograd::is_grad_enabled());
    EXPECT_FALSE(dy.requires_grad());
    const auto [x] = ctx.saved_tensors<1>();
    return map(x, [](float v) { return 3 * v * v; }) * dy;
  }
  template <class F>
  static Tensor map(const Tensor& x, F f) {
    Tensor y = empty_like(x);
    std::transform(x.data<float>(), x.data<float>() + x.numel(), y.data<float>(), f);
    return y;
  }
};

TEST(DoubleBackwardTest, OfAOnceDifferentiableLayerIsAnError) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  const Tensor w = leaf(5);
  backward(RawCube::apply(x));
  EXPECT_EQ(values(x.grad()), Values{12});
  const auto dx = [&] { return grad({RawCube::apply(x) * w}, {x}, {.create_graph = true})[0]; };
  EXPECT_EQ(values(dx()), Values{60});
  const std::string expected =
      "[RawCube] the layer's backward is marked once_differentiable: it has no second derivative";
  EXPECT_EQ(message_of<RuntimeError>([&] { grad({dx()}, {x}); }), expected);
  EXPECT_EQ(message_of<RuntimeError>([&] { grad({dx()}, {w}); }), expected) << "through the gradient that came in";
  EXPECT_EQ(message_of<RuntimeError>([&] { backward(dx()); }), expected);
}

/// Layer with a running mean, which is computed from the inputs of earlier calls.
struct Running : Function<Running> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& mean, Tensor& next) {
    next = mean + x;
    ctx.save_for_backward(x, mean);
    return x * x * mean;
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dy) {
    const auto [x, mean] = ctx.saved_tensors<2>();
    return {2 * dy * x * mean, Tensor(), Tensor()};
  }
};

TEST(DoubleBackwardTest, WhatAnEarlierCallComputedIsAConstantToThisOne) {
  const Tensor x = leaf(2);
  Tensor mean = scalar(1);
  for (int step = 0; step < 3; ++step) {
    const float before = values(mean)[0];
    Tensor next;
    const Tensor y = Running::apply(x, mean, std::ref(next));
    const Tensor dx = grad({y}, {x}, {.create_graph = true})[0];
    EXPECT_EQ(values(grad({dx}, {x})[0]), Values{2 * before});
    mean = next;
  }
}

}  // namespace
}  // namespace lamella::test
