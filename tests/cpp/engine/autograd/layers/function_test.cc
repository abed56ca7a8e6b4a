#include "engine/autograd/layers/function.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tests/cpp/engine/autograd/support.h"

// Tests a layer's arguments, its results, and the gradients that its backward may return.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

// Arguments
// ---------------------------------------------------------------------------------------------------------------------

/// Sums every tensor in its arguments; the gradient of tensor i (from 1) is i times the output's.
struct Gather : Function<Gather> {
  template <class... Args>
  static Tensor forward(Context& ctx, const Args&... args) {
    Tensor total = scalar(0);
    int count = 0;
    const auto add = [&](const Tensor& x) {
      total = total + x;
      ++count;
    };
    (autograd::for_each_tensor(args, add), ...);
    ctx.state<int>() = count;
    return total;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    TensorList grads;
    for (int i = 1; i <= ctx.state<int>(); ++i) grads.push_back(i * dy);
    return grads;
  }
};

/// Calls Gather and expects that leaf i received the gradient i.
template <class... Args>
void expect_gathers(std::initializer_list<Tensor> leaves, const Args&... args) {
  backward(Gather::apply(args...));
  float expected = 1;
  for (const Tensor& x : leaves) EXPECT_EQ(values(x.grad()), Values{expected++});
}

/// Counts how often it is copied on the way to forward.
struct Counted {
  Counted() = default;
  Counted(const Counted& other) : copies(other.copies + 1) {}
  Counted(Counted&& other) noexcept : copies(other.copies) {}
  int copies = 0;
};
struct ByValue : Function<ByValue> {
  static Tensor forward(Context&, Tensor x, Counted counted, std::unique_ptr<int> owned, double scale) {
    return x * (scale + *owned + 100 * counted.copies);
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};
struct ByReference : Function<ByReference> {
  static Tensor forward(Context&, const Tensor& x, const Counted& counted, int& written, bool negative) {
    written += 1;
    return x * ((negative ? -1 : 1) + 100 * counted.copies);
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(FunctionTest, ForwardGetsArgumentsAsItsParametersTakeThem) {
  const Tensor x = leaf(1);
  Counted counted;
  const double scale = 2;
  EXPECT_EQ(values(ByValue::apply(leaf(1), Counted(), std::make_unique<int>(1), 2.0)), Values{3});
  EXPECT_EQ(values(ByValue::apply(x, counted, std::make_unique<int>(1), scale)), Values{103});
  EXPECT_EQ(values(ByValue::apply(x, std::move(counted), std::make_unique<int>(1), 2)), Values{3});
  int written = 0;
  bool negative = true;
  EXPECT_EQ(values(ByReference::apply(x, counted, written, negative)), Values{-1});
  EXPECT_EQ(values(ByReference::apply(leaf(1), Counted(), written, false)), Values{1});
  EXPECT_EQ(written, 2);
}

struct Bag {
  Tensor weight;
  double rate;
  std::optional<Tensor> bias;
  std::string name;
};
struct Nested {
  int before;
  Bag bag;
  std::vector<Tensor> rest;
};

TEST(FunctionArgumentsTest, TensorsAreFoundInEveryKindOfContainer) {
  const auto leaves = [] { return std::array{leaf(1), leaf(2), leaf(3), leaf(4)}; };
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, a, b, c, d);
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, std::vector{a, b}, TensorList{c, d});
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, std::tuple(a, 5, b, std::string("x")), std::pair(c, d));
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, std::array{a, b}, std::optional(c), std::optional<Tensor>(), d);
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, Bag{a, 0.5, b, "bag"}, Bag{c, 0.5, std::nullopt, ""}, d);
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, Nested{1, Bag{a, 1.0, b, ""}, {c, d}});
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, std::map<std::string, Tensor>{{"x", a}, {"y", b}}, std::deque{c, d});
  }
  {
    const auto [a, b, c, d] = leaves();
    expect_gathers({a, b, c, d}, std::vector<std::pair<Tensor, std::vector<Tensor>>>{{a, {b, c}}, {d, {}}});
  }
}

struct BigPlain {
  int a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0;
  float table[3] = {};
};
struct NestedPlain {
  int k;
  Tensor x;
};
struct HoldsNested {
  NestedPlain first;
};
static_assert(!autograd::kHoldsTensors<BigPlain>);
static_assert(!autograd::kHoldsTensors<std::string>);
static_assert(!autograd::kHoldsTensors<std::function<Tensor()>>);
static_assert(autograd::kHoldsTensors<Bag>);
static_assert(autograd::kHoldsTensors<Nested>);
static_assert(autograd::kHoldsTensors<HoldsNested>);
static_assert(autograd::kHoldsTensors<std::map<int, std::vector<Tensor>>>);

struct TakesAnything : Function<TakesAnything> {
  static Tensor forward(Context&, const Tensor& x, int n, double r, const std::string& text, const char* c, bool flag,
                        const std::function<Tensor(const Tensor&)>& f, std::unique_ptr<int> owned,
                        const BigPlain& big) {
    return f(x) * (n + r + static_cast<double>(text.size()) + c[0] - 'a' + flag + *owned + big.j);
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(FunctionArgumentsTest, PlainValuesOfAnyTypePassThrough) {
  const Tensor x = leaf(2);
  const Tensor y = TakesAnything::apply(
      x, 1, 0.5, "four", "a", true, [](const Tensor& t) { return t * 2; }, std::make_unique<int>(3), BigPlain{.j = 10});
  EXPECT_EQ(values(y), Values{4 * 19.5F});
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{1});
}

struct TakesByValue : Function<TakesByValue> {
  static Tensor forward(Context&, Tensor x, std::vector<Tensor> list) {
    Tensor mine = std::move(x);
    list.clear();
    return mine;
  }
  static std::tuple<Tensor, std::vector<Tensor>> backward(Context&, const Tensor& dy) { return {dy, {2 * dy}}; }
};

TEST(FunctionArgumentsTest, ForwardMayConsumeItsArguments) {
  const Tensor x = leaf(5);
  const Tensor w = leaf(1);
  Tensor y = TakesByValue::apply(Tensor(x), std::vector{w});
  EXPECT_FALSE(y.same(x)) << "an input that is returned is a new tensor, moved or not";
  backward(y);
  EXPECT_EQ(values(x.grad()), Values{1});
  EXPECT_EQ(values(w.grad()), Values{2});
  const autograd::NoGrad no_grad;
  y = TakesByValue::apply(Tensor(x), std::vector{w});
  EXPECT_FALSE(y.same(x));
  EXPECT_FALSE(y.requires_grad());
}

TEST(FunctionArgumentsTest, UndefinedTensorsAreRefused) {
  EXPECT_TRUE(contains(message_of<ValueError>([] { Cube::apply(Tensor()); }), "[Cube] got an undefined tensor"));
  EXPECT_THROW(Gather::apply(std::vector{leaf(1), Tensor()}), ValueError);
}

// Results
// ---------------------------------------------------------------------------------------------------------------------

/// Returns x, 2x, 3x in the form R; the gradient is 100, 10 and 1 times those of the outputs.
template <class R>
struct Spread : Function<Spread<R>> {
  static R forward(Context&, const Tensor& x);
  static Tensor backward(Context&, const Tensor& d0, const Tensor& d1, const Tensor& d2) {
    return 100 * d0 + 10 * d1 + d2;
  }
};

struct Report {
  Tensor first;
  int steps;
  std::vector<Tensor> others;
  std::string note;
};

template <>
std::tuple<Tensor, int, Tensor, std::string, Tensor>
Spread<std::tuple<Tensor, int, Tensor, std::string, Tensor>>::forward(Context&, const Tensor& x) {
  return {x * 1, 7, x * 2, "note", x * 3};
}
template <>
std::array<Tensor, 3> Spread<std::array<Tensor, 3>>::forward(Context&, const Tensor& x) {
  return {x * 1, x * 2, x * 3};
}
template <>
std::vector<Tensor> Spread<std::vector<Tensor>>::forward(Context&, const Tensor& x) {
  return {x * 1, x * 2, x * 3};
}
template <>
TensorList Spread<TensorList>::forward(Context&, const Tensor& x) {
  return {x * 1, x * 2, x * 3};
}
template <>
std::pair<Tensor, std::optional<std::pair<Tensor, Tensor>>>
Spread<std::pair<Tensor, std::optional<std::pair<Tensor, Tensor>>>>::forward(Context&, const Tensor& x) {
  return {x * 1, std::pair{x * 2, x * 3}};
}
template <>
Report Spread<Report>::forward(Context&, const Tensor& x) {
  return {x * 1, 3, {x * 2, x * 3}, "report"};
}

template <class R>
class FunctionResultsTest : public ::testing::Test {};
using ResultKinds =
    ::testing::Types<std::tuple<Tensor, int, Tensor, std::string, Tensor>, std::array<Tensor, 3>, std::vector<Tensor>,
                     TensorList, std::pair<Tensor, std::optional<std::pair<Tensor, Tensor>>>, Report>;
TYPED_TEST_SUITE(FunctionResultsTest, ResultKinds);

TYPED_TEST(FunctionResultsTest, TensorsOfAnyFormComeBackDifferentiable) {
  const NoLeak no_leak;
  const Tensor x = leaf(1);
  auto result = Spread<TypeParam>::apply(x);
  std::vector<Tensor> outputs;
  autograd::for_each_tensor(result, [&](const Tensor& y) { outputs.push_back(y); });
  ASSERT_EQ(outputs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(values(outputs[i]), Values{static_cast<float>(i + 1)});
    EXPECT_TRUE(outputs[i].requires_grad());
    EXPECT_EQ(outputs[i].grad_fn(), outputs[0].grad_fn()) << "one layer, one node";
  }
  backward(outputs[0] * 3 + outputs[1] * 5 + outputs[2] * 7);
  EXPECT_EQ(values(x.grad()), Values{357});
}

TEST(FunctionResultsTest, PlainPartsComeBackAsReturned) {
  const auto [a, n, b, text, c] = Spread<std::tuple<Tensor, int, Tensor, std::string, Tensor>>::apply(leaf(1));
  EXPECT_EQ(n, 7);
  EXPECT_EQ(text, "note");
  const Report report = Spread<Report>::apply(leaf(1));
  EXPECT_EQ(report.steps, 3);
  EXPECT_EQ(report.note, "report");
}

template <class List>
struct TakesList : Function<TakesList<List>> {
  static std::vector<Tensor> forward(Context&, const Tensor& x, int n) {
    std::vector<Tensor> ys;
    for (int i = 0; i < n; ++i) ys.push_back(x * i);
    return ys;
  }
  static Tensor backward(Context&, const List& grads) {
    Tensor total = scalar(0);
    for (std::size_t i = 0; i < grads.size(); ++i) total = total + static_cast<double>(i) * grads[i];
    return total;
  }
};

TEST(FunctionResultsTest, BackwardMayTakeAllGradientsAsOneList) {
  const auto check = [](auto layer) {
    const Tensor x = leaf(1);
    const std::vector<Tensor> ys = decltype(layer)::apply(x, 12);
    backward(ys[3] + ys[11]);
    EXPECT_EQ(values(x.grad()), Values{14});
  };
  check(TakesList<TensorList>());
  check(TakesList<std::vector<Tensor>>());
}

struct WrongArity : Function<WrongArity> {
  static std::vector<Tensor> forward(Context&, const Tensor& x) { return {x * 1, x * 2, x * 3}; }
  static Tensor backward(Context&, const Tensor& a, const Tensor& b) { return a + b; }
};

TEST(FunctionResultsTest, BackwardThatTakesAnotherNumberOfGradientsSaysSo) {
  const auto ys = WrongArity::apply(leaf(1));
  EXPECT_EQ(message_of<ValueError>([&] { backward(ys[0]); }),
            "[WrongArity] backward takes 2 gradients, forward returned 3 tensors");
}

struct ReturnsNothing : Function<ReturnsNothing> {
  static std::vector<Tensor> forward(Context&, const Tensor&) { return {}; }
  static Tensor backward(Context&, const TensorList&) { return {}; }
};

TEST(FunctionResultsTest, NoTensorIsAValueErrorThatNamesTheLayer) {
  for (const bool wants : {true, false}) {
    const Tensor x = scalar(1).set_requires_grad(wants);
    EXPECT_EQ(message_of<ValueError>([&] { ReturnsNothing::apply(x); }), "[ReturnsNothing] forward returned no tensor");
  }
}

// Counts of returned gradients
// ---------------------------------------------------------------------------------------------------------------------

constexpr int kNone = 0;

/// forward(a, number, b); backward returns the multiples of dy in `script`, kNone for no gradient.
struct Mixed : Function<Mixed> {
  static inline std::vector<int> script;
  static Tensor forward(Context&, const Tensor& a, double, const Tensor& b) { return a + b; }
  static std::vector<Tensor> backward(Context&, const Tensor& dy) {
    std::vector<Tensor> grads;
    for (const int factor : script) grads.push_back(factor == kNone ? Tensor() : factor * dy);
    return grads;
  }
};

struct CountCase {
  const char* what;
  std::vector<int> returned;
  bool a_wants, b_wants;
  Values a_grad, b_grad;
  const char* error = nullptr;
};

TEST(GradientCountTest, FollowsTheRulesByTensorAndByArgument) {
  const CountCase cases[] = {
      {"one for each tensor", {2, 3}, true, true, {2}, {3}},
      {"one for each argument", {2, kNone, 3}, true, true, {2}, {3}},
      {"none for an input that wants one", {kNone, 3}, true, true, {}, {3}},
      {"none at all", {kNone, kNone}, true, true, {}, {}},
      {"a missing one that nobody wants", {2}, true, false, {2}, {}},
      {"none for an input that wants none", {2, kNone}, true, false, {2}, {}},
      {"by argument, none for the last", {2, kNone, kNone}, true, false, {2}, {}},
      {"too few", {2}, true, true, {}, {}, "backward returned 1 gradient, expected 2"},
      {"nothing", {}, true, true, {}, {}, "backward returned 0 gradients, expected 2"},
      {"too many", {2, 3, 4, 5}, true, true, {}, {}, "backward returned 4 gradients, expected 2"},
      {"none for all that is too much", {2, kNone, kNone, kNone}, true, false, {2}, {}},
      {"the same for each tensor", {2, 3, kNone, kNone}, true, true, {2}, {3}},
      {"the same for each argument", {2, kNone, 3, kNone}, true, true, {2}, {3}},
      {"a number too many at the end", {2, 3, kNone, 4}, true, true, {}, {}, "backward returned 4 gradients"},
      {"one for a number", {2, 3, 4}, true, true, {}, {}, "a gradient for argument 1, which is not a tensor"},
      {"one in the place of an input that wants none", {2, 3}, true, false, {2}, {}},
      {"the same by argument", {2, kNone, 3}, true, false, {2}, {}},
      {"the first input's missing", {3}, false, true, {}, {}, "expected 2"},
  };
  for (const CountCase& c : cases) {
    SCOPED_TRACE(c.what);
    const Tensor a = scalar(1).set_requires_grad(c.a_wants);
    const Tensor b = scalar(1).set_requires_grad(c.b_wants);
    Mixed::script = c.returned;
    const Tensor y = Mixed::apply(a, 0.5, b);
    if (c.error) {
      const std::string message = message_of<ValueError>([&] { backward(y); });
      EXPECT_TRUE(contains(message, "[Mixed]"));
      EXPECT_TRUE(contains(message, c.error));
    } else {
      backward(y);
    }
    EXPECT_EQ(values(a.grad()), c.a_grad);
    EXPECT_EQ(values(b.grad()), c.b_grad);
  }
}

TEST(GradientCountTest, TheMessageHasBothCountsAndTheArguments) {
  Mixed::script = {1};
  const Tensor y = Mixed::apply(leaf(1), 0.5, leaf(1));
  EXPECT_EQ(message_of<ValueError>([&] { backward(y); }),
            "[Mixed] backward returned 1 gradient, expected 2, one for each tensor argument (argument 0, argument 2), "
            "or 3, one for each "
            "argument");
}

struct Pairwise : Function<Pairwise> {
  static Tensor forward(Context&, const Tensor& a, const Tensor& b) { return a + b; }
  static std::pair<Tensor, Tensor> backward(Context&, const Tensor& dy) { return {2 * dy, 3 * dy}; }
};

TEST(GradientCountTest, AGradientForAnInputThatWantsNoneIsIgnoredWhereTheCountsLeaveNoDoubt) {
  const Tensor a = leaf(1);
  const Tensor b = scalar(1);
  backward(Pairwise::apply(a, b));
  EXPECT_EQ(values(a.grad()), Values{2});
  EXPECT_FALSE(b.grad().defined());
}

struct OnlyFirst : Function<OnlyFirst> {
  static Tensor forward(Context&, const Tensor& a, const Tensor& b) { return a * b; }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dy) {
    if (!ctx.needs_input_grad(1)) return {2 * dy};
    return {2 * dy, 3 * dy};
  }
};

TEST(GradientCountTest, GradMayLeaveOutWhatThePassDoesNotNeed) {
  const Tensor a = leaf(1);
  const Tensor b = leaf(1);
  EXPECT_EQ(values(grad({OnlyFirst::apply(a, b)}, {a})[0]), Values{2});
  EXPECT_EQ(values(grad({OnlyFirst::apply(a, b)}, {b})[0]), Values{3});
}

template <class R>
struct Forms : Function<Forms<R>> {
  static Tensor forward(Context&, const std::vector<Tensor>& list, const Tensor& x, const std::optional<Tensor>& bias) {
    Tensor total = x;
    for (const Tensor& y : list) total = total + y;
    return bias ? total + *bias : total * 1;
  }
  static R backward(Context&, const Tensor& dy);
};
template <>
std::tuple<std::vector<Tensor>, Tensor, Tensor> Forms<std::tuple<std::vector<Tensor>, Tensor, Tensor>>::backward(
    Context&, const Tensor& dy) {
  return {{2 * dy, 3 * dy}, 4 * dy, 5 * dy};
}
template <>
std::tuple<std::array<std::optional<Tensor>, 2>, std::optional<Tensor>, std::optional<Tensor>>
Forms<std::tuple<std::array<std::optional<Tensor>, 2>, std::optional<Tensor>, std::optional<Tensor>>>::backward(
    Context&, const Tensor& dy) {
  return {{std::nullopt, 3 * dy}, 4 * dy, std::nullopt};
}
template <>
std::tuple<std::vector<Tensor>, std::nullopt_t, Tensor>
Forms<std::tuple<std::vector<Tensor>, std::nullopt_t, Tensor>>::backward(Context&, const Tensor& dy) {
  return {{2 * dy, 3 * dy}, std::nullopt, 5 * dy};
}
template <>
std::tuple<std::vector<Tensor>, Tensor> Forms<std::tuple<std::vector<Tensor>, Tensor>>::backward(Context&,
                                                                                                 const Tensor& dy) {
  return {{2 * dy, 3 * dy}, 4 * dy};
}
template <>
std::tuple<Tensor, Tensor, Tensor> Forms<std::tuple<Tensor, Tensor, Tensor>>::backward(Context&, const Tensor& dy) {
  return {dy, dy, dy};
}
template <>
TensorList Forms<TensorList>::backward(Context&, const Tensor& dy) {
  return {2 * dy, 3 * dy, 4 * dy, 5 * dy};
}

template <class R>
std::vector<Values> gradients_of_forms(bool with_bias) {
  const std::array leaves{leaf(1), leaf(1), leaf(1), leaf(1)};
  const std::optional<Tensor> bias = with_bias ? std::optional(leaves[3]) : std::nullopt;
  backward(Forms<R>::apply(std::vector{leaves[0], leaves[1]}, leaves[2], bias));
  std::vector<Values> grads;
  for (const Tensor& x : leaves) grads.push_back(values(x.grad()));
  return grads;
}

TEST(GradientFormTest, AContainersGradientHasItsForm) {
  using All = std::vector<Values>;
  EXPECT_EQ((gradients_of_forms<std::tuple<std::vector<Tensor>, Tensor, Tensor>>(true)), (All{{2}, {3}, {4}, {5}}));
  EXPECT_EQ((gradients_of_forms<TensorList>(true)), (All{{2}, {3}, {4}, {5}}))
      << "a flat list fills the arguments in order";
  EXPECT_EQ((gradients_of_forms<
                std::tuple<std::array<std::optional<Tensor>, 2>, std::optional<Tensor>, std::optional<Tensor>>>(true)),
            (All{{}, {3}, {4}, {}}));
  EXPECT_EQ((gradients_of_forms<std::tuple<std::vector<Tensor>, std::nullopt_t, Tensor>>(true)),
            (All{{2}, {3}, {}, {5}}));
  EXPECT_EQ((gradients_of_forms<std::tuple<std::vector<Tensor>, Tensor>>(false)), (All{{2}, {3}, {4}, {}}))
      << "an empty optional is no tensor";
  EXPECT_THROW((gradients_of_forms<std::tuple<std::vector<Tensor>, Tensor>>(true)), ValueError);
}

TEST(GradientFormTest, AnotherFormIsAValueError) {
  const std::string message =
      message_of<ValueError>([] { gradients_of_forms<std::tuple<Tensor, Tensor, Tensor>>(true); });
  EXPECT_TRUE(contains(message, "for argument 0, a gradient of the argument's form, with 2 tensors, got one tensor"));
}

template <class Argument>
struct Sole : Function<Sole<Argument>> {
  static Tensor forward(Context&, const Argument& argument) {
    Tensor total = scalar(0);
    autograd::for_each_tensor(argument, [&](const Tensor& x) { total = total + x; });
    return total;
  }
  static Argument backward(Context&, const Tensor& dy);
};
struct Weights {
  Tensor scale;
  Tensor shift;
};
template <>
std::pair<Tensor, Tensor> Sole<std::pair<Tensor, Tensor>>::backward(Context&, const Tensor& dy) {
  return {2 * dy, 3 * dy};
}
template <>
Weights Sole<Weights>::backward(Context&, const Tensor& dy) {
  return {2 * dy, 3 * dy};
}
template <>
std::vector<Tensor> Sole<std::vector<Tensor>>::backward(Context&, const Tensor& dy) {
  return {2 * dy, 3 * dy};
}

TEST(GradientFormTest, ASingleGradientNeedNotBeWrapped) {
  const auto check = []<class Argument>(const Argument&, const Tensor& a, const Tensor& b) {
    backward(Sole<Argument>::apply(Argument{a, b}));
    EXPECT_EQ(values(a.grad()), Values{2});
    EXPECT_EQ(values(b.grad()), Values{3});
  };
  check(std::pair<Tensor, Tensor>(), leaf(1), leaf(1));
  check(Weights(), leaf(1), leaf(1));
  check(std::vector<Tensor>(), leaf(1), leaf(1));
}

struct OptionalGradient : Function<OptionalGradient> {
  static Tensor forward(Context&, const Tensor& x, bool) { return x * 1; }
  static std::optional<Tensor> backward(Context&, const Tensor&) { return std::nullopt; }
};

TEST(GradientFormTest, NulloptIsNoGradient) {
  const Tensor x = leaf(1);
  backward(OptionalGradient::apply(x, true));
  EXPECT_FALSE(x.grad().defined());
}

// Shape, dtype and device of returned gradients
// ---------------------------------------------------------------------------------------------------------------------

struct ReturnsGiven : Function<ReturnsGiven> {
  static inline Tensor given;
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor&) { return given; }
};

TEST(GradientCheckTest, BroadcastShapesAreSummed) {
  struct Case {
    Dims input, gradient;
    Values expected;
  };
  const Case cases[] = {{{3}, {2, 3}, {2, 2, 2}}, {{}, {2, 3}, {6}},     {{1, 3}, {4, 3}, {4, 4, 4}},
                        {{2, 1}, {2, 5}, {5, 5}}, {{3}, {3}, {1, 1, 1}}, {{1}, {}, {}},
                        {{0}, {2, 0}, {}}};
  for (const Case& c : cases) {
    const Tensor x = ones(c.input).set_requires_grad(true);
    ReturnsGiven::given = ones(c.gradient);
    const Tensor y = sum(ReturnsGiven::apply(x));
    if (c.input == Dims{1}) {
      EXPECT_THROW(backward(y), ValueError) << "a gradient never grows";
      continue;
    }
    backward(y);
    EXPECT_EQ(x.grad().shape(), c.input);
    EXPECT_EQ(values(x.grad()), c.expected) << c.input;
  }
  ReturnsGiven::given = Tensor();
}

TEST(GradientCheckTest, OtherShapesAreValueErrorsWithBoth) {
  ReturnsGiven::given = ones({2});
  const Tensor y = ReturnsGiven::apply(leaf({1, 2, 3}));
  EXPECT_EQ(message_of<ValueError>([&] { backward(sum(y)); }),
            "[ReturnsGiven] backward returned a gradient of shape [2] for an input of shape [3]");
  ReturnsGiven::given = Tensor();
}

TEST(GradientCheckTest, OtherDTypesAreCast) {
  for (const DType dtype : {DType::Float64, DType::Int32, DType::Bool}) {
    const Tensor x = leaf({1, 2});
    ReturnsGiven::given = ones({2}, dtype);
    backward(sum(ReturnsGiven::apply(x)));
    EXPECT_EQ(x.grad().dtype(), DType::Float32);
    EXPECT_EQ(values(x.grad()), (Values{1, 1}));
  }
  ReturnsGiven::given = Tensor();
}

TEST(GradientCheckTest, AnotherDeviceIsARuntimeError) {
  for (const Dims& shape : {Dims{2}, Dims{}}) {
    const Tensor x = ones(shape).set_requires_grad(true);
    ReturnsGiven::given = empty(shape, DType::Float32, kMeta);
    const Tensor y = sum(ReturnsGiven::apply(x));
    EXPECT_EQ(message_of<RuntimeError>([&] { backward(y); }),
              "[ReturnsGiven] backward returned a gradient on meta for an input on cpu");
  }
  ReturnsGiven::given = Tensor();
}

// Names, exceptions
// ---------------------------------------------------------------------------------------------------------------------

struct Named : Function<Named> {
  static constexpr std::string_view name = "my_layer";
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};
template <class T>
struct Templated : Function<Templated<T>> {
  static Tensor forward(Context&, const Tensor& x) { return x * 1; }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(FunctionNameTest, IsTheTypesOrTheGivenOne) {
  EXPECT_EQ(Named::apply(leaf(1)).grad_fn()->name(), "my_layer");
  EXPECT_EQ(Cube::apply(leaf(1)).grad_fn()->name(), "Cube");
  EXPECT_EQ(Templated<int>::apply(leaf(1)).grad_fn()->name(), "Templated<int>");
}

struct Throws : Function<Throws> {
  static inline bool in_forward = false;
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    if (in_forward) throw std::domain_error("mine, in forward");
    return x * 1;
  }
  static Tensor backward(Context&, const Tensor&) { throw std::domain_error("mine, in backward"); }
};

TEST(FunctionExceptionTest, AUsersExceptionComesOutAsItIsAndLeavesTheEngineClean) {
  const NoLeak no_leak;
  const Tensor x = leaf(2);
  Throws::in_forward = true;
  EXPECT_EQ(message_of<std::domain_error>([&] { Throws::apply(x); }), "mine, in forward");
  EXPECT_TRUE(autograd::is_grad_enabled());
  Throws::in_forward = false;
  const Tensor cube = Cube::apply(x);
  const Tensor y = Throws::apply(cube);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(message_of<std::domain_error>([&] { backward(y); }), "mine, in backward");
    EXPECT_TRUE(autograd::is_grad_enabled());
  }
  EXPECT_FALSE(x.grad().defined());
  backward(cube);
  EXPECT_EQ(values(x.grad()), Values{12});
}

TEST(FunctionExceptionTest, ThePartThatRanBeforeTheExceptionIsKeptApart) {
  const Tensor x = leaf(1);
  const Tensor good = leaf(1);
  // The pass reaches `good` before the layer that throws; its gradient stays, as in a pass that is interrupted.
  const Tensor thrown = Throws::apply(x);
  const Tensor y = thrown + good * 2;
  EXPECT_THROW(backward(y), std::domain_error);
  const Tensor fresh = Cube::apply(x) + good;
  good.set_grad({});
  backward(fresh);
  EXPECT_EQ(values(x.grad()), Values{3});
  EXPECT_EQ(values(good.grad()), Values{1});
}

TEST(FunctionTest, NothingIsRecordedWhereNobodyWantsAGradient) {
  const Tensor constant = scalar(2);
  EXPECT_FALSE(Cube::apply(constant).requires_grad());
  EXPECT_FALSE(Cube::apply(constant).grad_fn());
  const autograd::NoGrad no_grad;
  const Tensor y = Cube::apply(leaf(2));
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(values(y), Values{8});
}

struct SeesMode : Function<SeesMode> {
  static inline bool in_forward = true;
  static inline bool in_backward = true;
  static Tensor forward(Context&, const Tensor& x) {
    in_forward = autograd::is_grad_enabled();
    return x * 1;
  }
  static Tensor backward(Context&, const Tensor& dy) {
    in_backward = autograd::is_grad_enabled();
    return dy;
  }
};

TEST(FunctionTest, ForwardRunsUnrecordedAndBackwardAsAsked) {
  const Tensor x = leaf(1);
  backward(SeesMode::apply(x));
  EXPECT_FALSE(SeesMode::in_forward);
  EXPECT_FALSE(SeesMode::in_backward);
  grad({SeesMode::apply(x)}, {x}, {.create_graph = true});
  EXPECT_TRUE(SeesMode::in_backward);
}

}  // namespace
}  // namespace lamella::test
