#include "engine/autograd/recording/recorder.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/cpp/engine/autograd/support.h"

// Tests the marks of the context, and how results are recorded.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

// needs_input_grad
// ---------------------------------------------------------------------------------------------------------------------

struct Asks : Function<Asks> {
  static inline std::vector<bool> in_forward;
  static inline std::vector<bool> in_backward;
  static std::vector<bool> ask(const Context& ctx) {
    std::vector<bool> needs;
    for (std::size_t i = 0; i < 4; ++i) needs.push_back(ctx.needs_input_grad(i));
    return needs;
  }
  static Tensor forward(Context& ctx, const Tensor& a, double, const std::vector<Tensor>& list, const Tensor& b) {
    in_forward = ask(ctx);
    EXPECT_THROW(static_cast<void>(ctx.needs_input_grad(4)), IndexError);
    return a + b + list[0] + list[1];
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    in_backward = ask(ctx);
    const auto gradient = [&](std::size_t argument) { return ctx.needs_input_grad(argument) ? dy : Tensor(); };
    return {gradient(0), gradient(2), gradient(2), gradient(3)};
  }
};

using Needs = std::vector<bool>;

TEST(NeedsInputGradTest, IsByArgumentInForwardAndBackward) {
  const Tensor a = leaf(1);
  const Tensor c = scalar(1);
  const Tensor d = leaf(1);
  backward(Asks::apply(a, 1.0, std::vector{c, d}, c));
  EXPECT_EQ(Asks::in_forward, (Needs{true, false, true, false}));
  EXPECT_EQ(Asks::in_backward, (Needs{true, false, true, false}));
  Asks::apply(c, 1.0, std::vector{c, c}, c);
  EXPECT_EQ(Asks::in_forward, (Needs{false, false, false, false}));
  const autograd::NoGrad no_grad;
  Asks::apply(a, 1.0, std::vector{a, a}, a);
  EXPECT_EQ(Asks::in_forward, (Needs{false, false, false, false}));
}

TEST(NeedsInputGradTest, IsRightUnderGradOfSomeInputs) {
  const Tensor a = leaf(1);
  const Tensor b = leaf(1);
  const Tensor d = leaf(1);
  const Tensor y = Asks::apply(a * 1, 1.0, std::vector{d, d}, b);
  grad({y}, {b}, {.retain_graph = true});
  EXPECT_EQ(Asks::in_backward, (Needs{false, false, false, true}));
  grad({y}, {a, d}, {.retain_graph = true});
  EXPECT_EQ(Asks::in_backward, (Needs{true, false, true, false}));
  backward(y);
  EXPECT_EQ(Asks::in_backward, (Needs{true, false, true, true}));
}

struct CallsAsksInBackward : Function<CallsAsksInBackward> {
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) {
    const autograd::EnableGrad enable;
    const Tensor a = leaf(1);
    Asks::apply(a, 1.0, std::vector{scalar(1), scalar(1)}, scalar(1));
    return dy;
  }
};

TEST(NeedsInputGradTest, IsRightInAForwardThatRunsInsideAnotherPass) {
  backward(CallsAsksInBackward::apply(leaf(1)));
  EXPECT_EQ(Asks::in_forward, (Needs{true, false, false, false}));
}

// mark_dirty
// ---------------------------------------------------------------------------------------------------------------------

/// Doubles its input in place, on raw memory.
struct DoubleInPlace : Function<DoubleInPlace> {
  enum Mark { kMarked, kNotReturned, kNotAnInput };
  static Tensor forward(Context& ctx, const Tensor& x, Mark mark = kMarked) {
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 2;
    if (mark == kNotAnInput) {
      ctx.mark_dirty(x * 1);
    } else {
      ctx.mark_dirty(x);
    }
    return mark == kNotReturned ? x * 1 : x;
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy * 2; }
};

TEST(MarkDirtyTest, TheInputItselfIsTheOutputAndTheGradientFlowsThrough) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 3;
  const std::uint32_t version = h.version();
  const Tensor y = DoubleInPlace::apply(h);
  EXPECT_TRUE(y.same(h));
  EXPECT_GT(h.version(), version);
  EXPECT_EQ(values(h), (Values{6, 12}));
  EXPECT_EQ(h.grad_fn()->name(), "DoubleInPlace");
  backward(sum(y));
  EXPECT_EQ(values(x.grad()), (Values{6, 6}));
}

TEST(MarkDirtyTest, ALeafThatWantsAGradientIsARuntimeError) {
  const Tensor x = leaf(1);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { DoubleInPlace::apply(x); }), "[DoubleInPlace] a leaf tensor"));
  EXPECT_TRUE(x.is_leaf());
  const autograd::NoGrad no_grad;
  const Tensor y = DoubleInPlace::apply(x);
  EXPECT_TRUE(y.same(x)) << "off the tape it is allowed";
  EXPECT_GT(x.version(), 0u);
}

TEST(MarkDirtyTest, AnEarlierSaverOfTheInputIsToldByWhom) {
  const Tensor h = leaf(2) * 1;
  const Tensor cube = Cube::apply(h);
  const Tensor y = DoubleInPlace::apply(h);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { backward(cube + y); }), "was overwritten by DoubleInPlace"));
}

TEST(MarkDirtyTest, MustNameAnInputThatIsReturned) {
  for (const bool wants : {true, false}) {
    const Tensor x = leaf(1) * 1;
    const autograd::GradMode mode(wants);
    EXPECT_TRUE(contains(message_of<RuntimeError>([&] { DoubleInPlace::apply(x, DoubleInPlace::kNotAnInput); }),
                         "not an input"));
    EXPECT_TRUE(contains(message_of<RuntimeError>([&] { DoubleInPlace::apply(x, DoubleInPlace::kNotReturned); }),
                         "must be returned"));
  }
}

TEST(MarkDirtyTest, AViewOfATensorTakesItsBaseAlong) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 1;
  const Tensor view = reshape(h, Dims{2, 1});
  const Tensor y = DoubleInPlace::apply(view);
  backward(sum(h * 3 + reshape(y, h.shape()) * 5));
  EXPECT_EQ(values(x.grad()), (Values{16, 16}));
}

/// Returns its input.
struct Unchanged : Function<Unchanged> {
  static Tensor forward(Context&, const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(MarkDirtyTest, MemoryThatALayerReturnedIsARuntimeError) {
  const Tensor h = leaf({1, 2}) * 1;
  const Tensor alias = Unchanged::apply(h);
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { DoubleInPlace::apply(h); }), "a custom layer returned this memory"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { add_(alias, 1); }), "a custom layer returned this memory"));
}

/// x := exp(x) in place; saves the output.
struct ExpInPlace : Function<ExpInPlace> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    copy_(x, exp(x));
    ctx.mark_dirty(x);
    ctx.save_for_backward(x);
    return x;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    return dy * y;
  }
};

TEST(MarkDirtyTest, TheWrittenInputMayBeSavedAsTheOutput) {
  const NoLeak no_leak;
  const Tensor x = leaf(0);
  const Tensor y = ExpInPlace::apply(x * 2);
  const Tensor dx = grad({y}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values(dx), Values{2});
  EXPECT_EQ(values(grad({dx}, {x})[0]), Values{4});
}

struct AddInto : Function<AddInto> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& y) {
    add_(x, y);
    ctx.mark_dirty(x);
    return x;
  }
  static std::array<Tensor, 2> backward(Context&, const Tensor& dy) { return {dy, 10 * dy}; }
};

TEST(MarkDirtyTest, AConstantBecomesAResult) {
  const Tensor x = vec({1, 2});
  const Tensor y = leaf({1, 1});
  const Tensor z = AddInto::apply(x, y);
  EXPECT_TRUE(z.same(x));
  EXPECT_TRUE(x.requires_grad());
  backward(sum(x));
  EXPECT_EQ(values(y.grad()), (Values{10, 10}));
}

// Inputs as outputs
// ---------------------------------------------------------------------------------------------------------------------

struct PassThrough : Function<PassThrough> {
  static std::pair<Tensor, Tensor> forward(Context& ctx, const Tensor& x, bool mark) {
    if (mark) ctx.mark_not_inplace(x);
    return {x, x * 2};
  }
  static Tensor backward(Context&, const Tensor& d0, const Tensor& d1) { return 10 * d0 + d1; }
};

TEST(ReturnedInputTest, IsANewTensorOnTheSameMemoryWithTheLayerAsItsOrigin) {
  for (const bool mark : {false, true}) {
    const NoLeak no_leak;
    const Tensor x = leaf({1, 2});
    const auto [same, twice] = PassThrough::apply(x, mark);
    EXPECT_FALSE(same.same(x));
    EXPECT_EQ(same.raw_data(), x.raw_data());
    EXPECT_EQ(same.grad_fn()->name(), "PassThrough");
    EXPECT_TRUE(x.is_leaf());
    backward(sum(same + 3 * twice));
    EXPECT_EQ(values(x.grad()), (Values{13, 13}));
  }
}

TEST(ReturnedInputTest, IsANewTensorAlsoOffTheTape) {
  const Tensor x = vec({1, 2});
  const auto [same, twice] = PassThrough::apply(x, false);
  EXPECT_FALSE(same.same(x));
  EXPECT_EQ(same.raw_data(), x.raw_data());
  EXPECT_FALSE(same.requires_grad());
}

TEST(ReturnedInputTest, TheOtherDialectWritesInPlace) {
  // Calls the recorder directly, as the bindings of another language do.
  struct Probe final : Node {
    std::string name() const override { return "Probe"; }
    TensorList run(TensorList grads) override { return grads; }
  };
  const autograd::Dialect dialect{.returned_input_is_in_place = true};
  const Tensor x = leaf(1);
  Tensor y = x;
  const Tensor* const inputs[] = {&x};
  Tensor* const outputs[] = {&y};
  const auto node = Ref<Node>::adopt(new Probe);
  Context ctx(node.get());
  EXPECT_THROW(autograd::connect_outputs(node, ctx, inputs, outputs, dialect), ValueError);
  const Tensor h = x * 2;
  Tensor z = h;
  const Tensor* const inner[] = {&h};
  Tensor* const results[] = {&z};
  Context fresh(node.get());
  autograd::connect_outputs(node, fresh, inner, results, dialect);
  EXPECT_TRUE(z.same(h));
  EXPECT_EQ(h.grad_fn(), node);
}

struct SameTwice : Function<SameTwice> {
  static std::pair<Tensor, Tensor> forward(Context&, const Tensor& x) {
    Tensor y = x * 2;
    return {y, y};
  }
  static Tensor backward(Context&, const Tensor& d0, const Tensor& d1) { return 10 * d0 + d1; }
};

TEST(ReturnedInputTest, AResultReturnedTwiceIsTwoOutputs) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  const auto [a, b] = SameTwice::apply(x);
  EXPECT_FALSE(a.same(b));
  backward(a + 5 * b);
  EXPECT_EQ(values(x.grad()), Values{15});
}

// Outputs without a gradient
// ---------------------------------------------------------------------------------------------------------------------

struct TwoOutputs : Function<TwoOutputs> {
  static inline TensorList received;
  static std::pair<Tensor, Tensor> forward(Context& ctx, const Tensor& x, bool materialize) {
    ctx.set_materialize_grads(materialize);
    return {x * 2, reshape(x, Dims{1, 2}) * 3};
  }
  static Tensor backward(Context&, const TensorList& grads) {
    received = grads;
    return ones({2});
  }
};

TEST(MaterializeGradsTest, MissingGradientsAreZerosUnlessSwitchedOff) {
  for (const bool materialize : {true, false}) {
    const Tensor x = leaf({1, 2});
    backward(sum(TwoOutputs::apply(x, materialize).first));
    ASSERT_EQ(TwoOutputs::received.size(), 2u);
    EXPECT_EQ(values(TwoOutputs::received[0]), (Values{1, 1}));
    if (materialize) {
      EXPECT_EQ(TwoOutputs::received[1].shape(), (Dims{1, 2}));
      EXPECT_EQ(values(TwoOutputs::received[1]), (Values{0, 0}));
    } else {
      EXPECT_FALSE(TwoOutputs::received[1].defined());
    }
  }
  TwoOutputs::received = {};
}

struct Indices : Function<Indices> {
  static std::tuple<Tensor, Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    Tensor marked = x * 5;
    ctx.mark_non_differentiable(marked);
    return {x * 2, cast(x, DType::Int64), marked};
  }
  static Tensor backward(Context&, const Tensor& dy, const Tensor& di, const Tensor& dm) {
    EXPECT_EQ(values(di), (Values{0, 0}));
    EXPECT_EQ(values(dm), (Values{0, 0}));
    return 2 * dy;
  }
};

TEST(NonDifferentiableTest, MarkedAndIntegerOutputsAreConstants) {
  const Tensor x = leaf({1, 2});
  const auto [y, index, marked] = Indices::apply(x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(index.stop_gradient());
  EXPECT_TRUE(index.is_leaf());
  EXPECT_TRUE(marked.stop_gradient());
  EXPECT_FALSE(marked.grad_fn());
  backward(sum(y * marked));
  EXPECT_EQ(values(x.grad()), (Values{10, 20}));
  EXPECT_THROW(backward(sum(marked)), RuntimeError);
}

struct SeesDType : Function<SeesDType> {
  static inline DType seen{};
  static Tensor forward(Context& ctx, const Tensor& x, bool consistent) {
    ctx.set_grad_in_dtype_consistent(consistent);
    return x * 1;
  }
  static Tensor backward(Context&, const Tensor& dy) {
    seen = dy.dtype();
    return dy;
  }
};

TEST(GradInDTypeTest, IncomingGradientsAreCastUnlessSwitchedOff) {
  for (const bool consistent : {true, false}) {
    const Tensor x = leaf(1);
    const Tensor y = SeesDType::apply(x, consistent);
    autograd::register_hook(y, [](const Tensor& g) { return cast(g, DType::Float64); });
    backward(y);
    EXPECT_EQ(SeesDType::seen, consistent ? DType::Float32 : DType::Float64);
    EXPECT_EQ(x.grad().dtype(), DType::Float32);
  }
}

// Results that forward keeps
// ---------------------------------------------------------------------------------------------------------------------

struct KeepsOutput : Function<KeepsOutput> {
  static inline Tensor kept;
  static Tensor forward(Context&, const Tensor& x) {
    kept = x * 2;
    return kept;
  }
  static Tensor backward(Context&, const Tensor& dy) { return 2 * dy; }
};

TEST(KeptOutputTest, DoesNotKeepTheNodeAlive) {
  WeakNode node;
  {
    const Tensor y = KeepsOutput::apply(leaf(1));
    node = WeakNode(y.grad_fn());
    EXPECT_FALSE(KeepsOutput::kept.requires_grad());
    EXPECT_EQ(KeepsOutput::kept.raw_data(), y.raw_data());
    EXPECT_FALSE(node.expired());
  }
  EXPECT_TRUE(node.expired());
  EXPECT_EQ(values(KeepsOutput::kept), Values{2});
  KeepsOutput::kept = Tensor();
}

TEST(KeptOutputTest, StandsForTheOutputWhileTheNodeLivesAndForAConstantAfter) {
  const Tensor x = leaf(3);
  {
    const Tensor y = KeepsOutput::apply(x);
    backward(KeepsOutput::kept * 5);
    EXPECT_EQ(values(x.grad()), Values{10});
  }
  EXPECT_FALSE((KeepsOutput::kept * 5).requires_grad());
  KeepsOutput::kept = Tensor();
}

TEST(KeptOutputTest, MayBecomeALeaf) {
  const Tensor x = leaf(3);
  const auto expect_leaf = [&] {
    backward(KeepsOutput::kept * 5);
    EXPECT_EQ(values(KeepsOutput::kept.grad()), Values{5});
    EXPECT_FALSE(x.grad().defined());
  };
  {
    const Tensor y = KeepsOutput::apply(x);
    KeepsOutput::kept.set_requires_grad(true);
    expect_leaf();
  }
  KeepsOutput::apply(x);
  KeepsOutput::kept.set_requires_grad(true);
  expect_leaf();
  KeepsOutput::kept = Tensor();
}

// In-place operations outside of layers
// ---------------------------------------------------------------------------------------------------------------------

TEST(InPlaceTest, IsRecorded) {
  const NoLeak no_leak;
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1;
  mul_(y, 3);
  add_(y, x);
  backward(sum(y));
  EXPECT_EQ(values(x.grad()), (Values{4, 4}));
}

TEST(InPlaceTest, OnALeafThatWantsAGradientIsARuntimeError) {
  const Tensor x = leaf({1, 2});
  EXPECT_THROW(add_(x, 1), RuntimeError);
  EXPECT_EQ(values(x), (Values{1, 2}));
  const autograd::NoGrad no_grad;
  add_(x, 1);
  EXPECT_EQ(values(x), (Values{2, 3}));
}

TEST(InPlaceTest, FillingCutsTheHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1;
  fill_(y, 7);
  const Tensor z = y + x;
  backward(sum(z));
  EXPECT_EQ(values(x.grad()), (Values{1, 1}));
}

}  // namespace
}  // namespace lamella::test
