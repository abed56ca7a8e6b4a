#include "engine/autograd/forward_mode/forward_ad.h"

#include <thread>

#include "engine/autograd/tangents/duals.h"
#include "tests/cpp/engine/autograd/support.h"

namespace lamella::test {
namespace {

using autograd::DualLevel;
using autograd::make_dual;
using autograd::unpack_dual;

Values tangent(const Tensor& x) { return values(unpack_dual(x).tangent); }

/// Returns f's derivative at x along v.
template <class F>
Values derivative(F&& f, const Tensor& x, const Tensor& v) {
  return values(autograd::jvp([&](const Tensor& y) { return f(y); }, x, v).second);
}

TEST(ForwardAd, DualsAreMadeAndTakenApart) {
  const NoLeak no_leak;
  const Tensor x = vec({1, 2});
  Tensor y;
  {
    const DualLevel level;
    const Tensor dual = make_dual(x, vec({3, 4}));
    y = dual * dual;
    EXPECT_EQ(tangent(y), (Values{6, 16}));
    EXPECT_EQ(values(unpack_dual(y).primal), (Values{1, 4}));
    EXPECT_EQ(tangent(unpack_dual(y).primal), Values());
    EXPECT_EQ(tangent(y.detach()), Values());
    EXPECT_TRUE(y.stop_gradient());
  }
  EXPECT_EQ(tangent(y), Values());
  EXPECT_FALSE(autograd::duals_active());
}

TEST(ForwardAd, Errors) {
  EXPECT_TRUE(contains(message_of<RuntimeError>([] { make_dual(vec({1}), vec({1})); }), "enter dual_level() first"));
  const DualLevel level;
  EXPECT_THROW(make_dual(vec({1}), vec({1, 2})), ValueError);
  EXPECT_THROW(make_dual(vec({1}), cast(vec({1}), DType::Float64)), TypeError);
  EXPECT_THROW(make_dual(cast(vec({1}), DType::Int64), cast(vec({1}), DType::Int64)), TypeError);
  EXPECT_THROW(make_dual(Tensor(), vec({1})), ValueError);
  EXPECT_THROW(make_dual(make_dual(vec({1}), vec({1})), vec({1})), RuntimeError);
  EXPECT_THROW(make_dual(vec({1}), vec({1}), level.level() + 1), RuntimeError);
  EXPECT_THROW(autograd::exit_dual_level(level.level() + 1), RuntimeError);
  const DualLevel inner;
  EXPECT_THROW(autograd::exit_dual_level(level.level()), RuntimeError);
  const auto two = [](std::span<const Tensor> x) { return std::vector<Tensor>(x.begin(), x.end()); };
  const Tensor x = vec({1});
  EXPECT_THROW(autograd::jvp(two, std::span(&x, 1), {}), ValueError);
  const auto constant = [](std::span<const Tensor>) { return std::vector<Tensor>{vec({1})}; };
  EXPECT_EQ(values(autograd::jvp(constant, std::span(&x, 1), std::span(&x, 1)).tangents[0]), Values{0});
  EXPECT_THROW(autograd::jvp(constant, std::span(&x, 1), std::span(&x, 1), true), RuntimeError);
}

TEST(ForwardAd, LevelsNest) {
  const NoLeak no_leak;
  const auto cube = [](const Tensor& x) { return x * x * x; };
  const auto first = [&](const Tensor& x) { return autograd::jvp(cube, x, vec({1})).second; };
  const auto second = [&](const Tensor& x) { return autograd::jvp(first, x, vec({1})).second; };
  EXPECT_EQ(values(first(vec({2}))), Values{12});
  EXPECT_EQ(values(second(vec({2}))), Values{12});
  EXPECT_EQ(derivative(second, vec({2}), vec({1})), Values{6});
  // The nested derivative does not confuse perturbations.
  const auto confusing = [](const Tensor& x) {
    return x * autograd::jvp([&](const Tensor& y) { return x + y; }, vec({1}), vec({1})).second;
  };
  EXPECT_EQ(derivative(confusing, vec({1}), vec({1})), Values{1});
}

TEST(ForwardAd, LayersWithABackwardOnly) {
  const NoLeak no_leak;
  EXPECT_EQ(derivative([](const Tensor& x) { return Cube::apply(x); }, vec({1, 2}), vec({1, 10})), (Values{3, 120}));
  const auto first = [](const Tensor& x) {
    return autograd::jvp([](const Tensor& y) { return Cube::apply(y); }, x, vec({1, 1})).second;
  };
  EXPECT_EQ(derivative(first, vec({1, 2}), vec({1, 1})), (Values{6, 12}));
  const Tensor x = leaf({1, 2});
  const Tensor total = sum(first(x));
  EXPECT_EQ(values(autograd::grad({total}, {x})[0]), (Values{6, 12}));
  const auto gradient = [](const Tensor& y) { return autograd::grad({sum(Cube::apply(y))}, {y})[0]; };
  EXPECT_EQ(derivative(gradient, x, vec({1, 1})), (Values{6, 12}));
}

/// x * y and x + y, with a jvp in each form that may be written.
struct Both : Function<Both> {
  static std::pair<Tensor, Tensor> forward(Context& ctx, const Tensor& x, const Tensor& y) {
    ctx.save_for_backward(x, y);
    return {x * y, x + y};
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& da, const Tensor& db) {
    const auto [x, y] = ctx.saved_tensors<2>();
    return {da * y + db, da * x + db};
  }
};
struct BothByTensors : Function<BothByTensors> {
  static auto forward(Context& ctx, const Tensor& x, const Tensor& y) { return Both::forward(ctx, x, y); }
  static auto backward(Context& ctx, const Tensor& da, const Tensor& db) { return Both::backward(ctx, da, db); }
  static std::pair<Tensor, Tensor> jvp(Context& ctx, const Tensor& dx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    return {dx * y + x * dy, dx + dy};
  }
};
struct BothByList : Function<BothByList> {
  static auto forward(Context& ctx, const Tensor& x, const Tensor& y) {
    ctx.set_materialize_grads(false);
    return Both::forward(ctx, x, y);
  }
  static auto backward(Context& ctx, const Tensor& da, const Tensor& db) { return Both::backward(ctx, da, db); }
  static TensorList jvp(Context& ctx, const TensorList& tangents) {
    const auto [x, y] = ctx.saved_tensors<2>();
    if (!tangents[1].defined()) return {tangents[0] * y, tangents[0]};
    if (!tangents[0].defined()) return {x * tangents[1], tangents[1]};
    return {tangents[0] * y + x * tangents[1], tangents[0] + tangents[1]};
  }
};

template <class Layer>
void expect_both() {
  const auto f = [](std::span<const Tensor> x) {
    auto [a, b] = Layer::apply(x[0], x[1]);
    return std::vector<Tensor>{a, b};
  };
  const Tensor primals[] = {vec({2}), vec({3})};
  const Tensor tangents[] = {vec({10}), vec({100})};
  const auto found = autograd::jvp(f, primals, tangents);
  EXPECT_EQ(values(found.tangents[0]), Values{230});
  EXPECT_EQ(values(found.tangents[1]), Values{110});
  EXPECT_EQ(derivative([](const Tensor& x) { return std::get<0>(Layer::apply(x, vec({3}))); }, vec({2}), vec({1})),
            Values{3});
  EXPECT_EQ(derivative([](const Tensor& y) { return std::get<0>(Layer::apply(vec({2}), y)); }, vec({3}), vec({1})),
            Values{2});
}

TEST(ForwardAd, LayersWithAJvp) {
  const NoLeak no_leak;
  expect_both<Both>();
  expect_both<BothByTensors>();
  expect_both<BothByList>();
}

/// 2 x - y, declared linear, so that its jvp needs no backward.
struct Combination : Function<Combination> {
  static constexpr bool kLinear = true;
  static Tensor forward(Context&, const Tensor& x, const std::vector<Tensor>& rest, double factor) {
    return x * factor - rest[0];
  }
  static Tensor backward(Context&, const Tensor&) { fail<RuntimeError>("not here"); }
};
/// x y z
struct Triple : Function<Triple> {
  static constexpr bool kMultilinear = true;
  static Tensor forward(Context&, const Tensor& x, const Tensor& y, const Tensor& z) { return x * y * z; }
  static TensorList backward(Context&, const Tensor&) { fail<RuntimeError>("not here"); }
};

TEST(ForwardAd, LinearLayers) {
  const NoLeak no_leak;
  const auto f = [](const Tensor& x) { return Combination::apply(x, std::vector<Tensor>{x * x}, 2.0); };
  EXPECT_EQ(derivative(f, vec({3}), vec({1})), Values{-4});
  EXPECT_EQ(derivative([](const Tensor& x) { return Combination::apply(vec({1}), std::vector<Tensor>{x}, 2.0); },
                       vec({3}), vec({1})),
            Values{-1});
  const auto g = [](const Tensor& x) { return Triple::apply(x, vec({5}), x); };
  EXPECT_EQ(derivative(g, vec({3}), vec({1})), Values{30});
  const auto first = [&](const Tensor& x) { return autograd::jvp(g, x, vec({1})).second; };
  EXPECT_EQ(derivative(first, vec({3}), vec({1})), Values{10});
}

struct Once : Function<Once> {
  static constexpr bool kOnceDifferentiable = true;
  static Tensor forward(Context&, const Tensor& x) { return x * 2; }
  static Tensor backward(Context&, const Tensor& dy) { return dy * 2; }
};
struct WrongCount : Function<WrongCount> {
  static Tensor forward(Context&, const Tensor& x) { return x * 2; }
  static Tensor backward(Context&, const Tensor& dy) { return dy * 2; }
  static std::pair<Tensor, Tensor> jvp(Context&, const Tensor& dx) { return {dx, dx}; }
};
struct WrongShape : Function<WrongShape> {
  static Tensor forward(Context&, const Tensor& x) { return x * 2; }
  static Tensor backward(Context&, const Tensor& dy) { return dy * 2; }
  static Tensor jvp(Context&, const Tensor& dx) { return sum(dx); }
};
/// Layer whose jvp takes one tangent, for any number of inputs.
struct WrongArity : Function<WrongArity> {
  static Tensor forward(Context&, const std::vector<Tensor>& x) { return x[0] * 2; }
  static TensorList backward(Context&, const Tensor& dy) { return {dy * 2, Tensor()}; }
  static Tensor jvp(Context&, const Tensor& dx) { return dx; }
};

TEST(ForwardAd, WhatLayersGetWrong) {
  const Tensor x = vec({1, 2});
  const auto message = [&]<class Error>(auto f, Error) {
    return message_of<Error>([&] { autograd::jvp([&](const Tensor& y) { return f(y); }, x, x); });
  };
  EXPECT_TRUE(contains(message([](const Tensor& y) { return Once::apply(y); }, RuntimeError("")),
                       "[Once] the layer's backward"));
  EXPECT_TRUE(contains(message([](const Tensor& y) { return WrongCount::apply(y); }, ValueError("")),
                       "[WrongCount] jvp returned 2 tangents, expected 1"));
  EXPECT_TRUE(contains(message([](const Tensor& y) { return WrongShape::apply(y); }, ValueError("")),
                       "[WrongShape] jvp returned a tangent of shape [] for output 0, which has the shape [2]"));
  EXPECT_TRUE(
      contains(message([](const Tensor& y) { return WrongArity::apply(std::vector<Tensor>{y, y}); }, ValueError("")),
               "[WrongArity] jvp takes 1 tangents, the layer was called with 2 tensors"));
  const auto gradient = [](const Tensor& y) { return autograd::grad({sum(Once::apply(y))}, {y})[0]; };
  EXPECT_THROW(derivative(gradient, leaf({1, 2}), x), RuntimeError);
}

TEST(ForwardAd, WritesInPlaceAndViews) {
  const NoLeak no_leak;
  for (const bool recording : {true, false}) {
    const autograd::GradMode mode(recording);
    const DualLevel level;
    const Tensor base = clone(make_dual(vec({1, 2, 3, 4}), vec({1, 1, 1, 1})));
    const Tensor head = narrow(base, 0, 0, 2);
    const Tensor grid = matrix_transpose(reshape(base, {2, 2}));
    mul_(head, 10);
    EXPECT_EQ(tangent(base), (Values{10, 10, 1, 1}));
    EXPECT_EQ(tangent(grid), (Values{10, 1, 10, 1}));
    mul_(base, base);
    EXPECT_EQ(tangent(base), (Values{200, 400, 6, 8}));
    EXPECT_EQ(tangent(head), (Values{200, 400}));
    zero_(head);
    EXPECT_EQ(tangent(base), (Values{0, 0, 6, 8}));
  }
}

TEST(ForwardAd, AnotherThreadIsInNoLevel) {
  const NoLeak no_leak;
  const DualLevel level;
  const Tensor x = make_dual(vec({2}), vec({1}));
  Values own;
  Values outer{1};
  std::thread([&] {
    outer = tangent(x * x);
    own = derivative([&](const Tensor& y) { return x * y; }, vec({3}), vec({1}));
  }).join();
  EXPECT_EQ(outer, Values());
  EXPECT_EQ(own, Values{2});
  EXPECT_EQ(tangent(x * x), Values{4});
}

TEST(ForwardAd, ATangentOnTheTapeOfItsOwnNodeIsFreed) {
  const NoLeak no_leak;
  const Tensor x = leaf({0.5, 1});
  const DualLevel level;
  const Tensor y = tanh(make_dual(x, vec({1, 1})));
  EXPECT_TRUE(unpack_dual(y).tangent.requires_grad());
}

TEST(ForwardAd, HiddenLevelsAreNotLookedAt) {
  const DualLevel outer;
  const Tensor x = make_dual(vec({2}), vec({1}));
  const DualLevel inner;
  const Tensor y = make_dual(x, vec({10}));
  {
    const autograd::HideLevels hide(inner.level());
    EXPECT_EQ(values(autograd::tangent_of(y * y, outer.level())), Values{4});
    EXPECT_THROW(autograd::exit_dual_level(inner.level()), RuntimeError);
    const DualLevel within;
    EXPECT_EQ(tangent(make_dual(y, vec({1})) * y), Values{2});
  }
  {
    const autograd::HideLevels hide;
    EXPECT_FALSE(autograd::duals_active());
    EXPECT_EQ(tangent(y * y), Values());
  }
  EXPECT_EQ(tangent(y * y), Values{40});
}

}  // namespace
}  // namespace lamella::test
