#include "ops/transforms/gradcheck.h"

#include <complex>

#include "engine/autograd/layers/function.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using autograd::gradcheck;
using autograd::GradcheckOptions;
using autograd::gradgradcheck;
using autograd::TensorFunction;

template <class Layer>
std::vector<Tensor> apply(std::span<const Tensor> x) {
  return {Layer::apply(x[0])};
}

/// x * x, with a backward that is off by a factor.
template <int kFactor>
struct Square : Function<Square<kFactor>> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return multiply(x, x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.template saved_tensors<1>();
    return multiply(multiply(dy, x), kFactor);
  }
};

/// x * x, with no gradient.
struct Forgetful : Function<Forgetful> {
  static Tensor forward(Context&, const Tensor& x) { return multiply(x, x); }
  static Tensor backward(Context&, const Tensor&) { return {}; }
};

/// x W for a fixed matrix, with W instead of its transpose in backward.
struct Untransposed : Function<Untransposed> {
  static Tensor weight() { return sample({3, 3}, 2, 9); }
  static Tensor forward(Context&, const Tensor& x) { return matmul(x, weight()); }
  static Tensor backward(Context&, const Tensor& dy) { return matmul(dy, weight()); }
};

/// x * x with a gradient in float32, whose dtype is not checked.
struct WrongDType : Function<WrongDType> {
  static constexpr bool kChecksGradients = false;
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return multiply(x, x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return cast(multiply(multiply(dy, x), 2), DType::Float32);
  }
};

/// Layer with two outputs; with kWrong it replaces a missing gradient by the other one.
template <bool kWrong>
struct TwoOutputs : Function<TwoOutputs<kWrong>> {
  static std::tuple<Tensor, Tensor> forward(Context& ctx, const Tensor& x) {
    ctx.set_materialize_grads(false);
    return {multiply(x, 2), multiply(x, 3)};
  }
  static Tensor backward(Context&, const Tensor& a, const Tensor& b) {
    if (kWrong && (!a.defined() || !b.defined())) fail<RuntimeError>("[TwoOutputs] both gradients are needed");
    if (!a.defined()) return multiply(b, 3);
    if (!b.defined()) return multiply(a, 2);
    return add(multiply(a, 2), multiply(b, 3));
  }
};

/// z * z on raw memory.
template <bool kConjugate>
struct ComplexSquare : Function<ComplexSquare<kConjugate>> {
  using Complex = std::complex<double>;
  static constexpr bool kOnceDifferentiable = true;

  static Tensor forward(Context& ctx, const Tensor& z) {
    ctx.save_for_backward(z);
    return map(z, z, [](Complex a, Complex) { return a * a; });
  }
  static Tensor backward(Context& ctx, const Tensor& dw) {
    const auto [z] = ctx.template saved_tensors<1>();
    return map(z, dw, [](Complex a, Complex g) { return g * 2.0 * (kConjugate ? std::conj(a) : a); });
  }

 private:
  template <class F>
  static Tensor map(const Tensor& a, const Tensor& b, F f) {
    Tensor out = empty_like(a);
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      out.data<Complex>()[i] = f(a.data<Complex>()[i], b.data<Complex>()[i]);
    }
    return out;
  }
};

std::vector<Tensor> leaves(const Tensor& x) { return {x.set_requires_grad(true)}; }

void expect_wrong(const TensorFunction& f, const std::vector<Tensor>& inputs, std::initializer_list<const char*> texts,
                  GradcheckOptions options = {}) {
  for (const bool fast : {false, true}) {
    options.fast_mode = fast;
    const auto result = gradcheck(f, inputs, options);
    EXPECT_FALSE(result);
    for (const char* text : texts) EXPECT_NE(result.message.find(text), std::string::npos) << result.message;
  }
}

TEST(Gradcheck, RightLayersPass) {
  for (const bool fast : {false, true}) {
    GradcheckOptions options;
    options.fast_mode = fast;
    const auto x = leaves(sample({2, 3}));
    EXPECT_TRUE(gradcheck(apply<Square<2>>, x, options));
    EXPECT_TRUE(gradgradcheck(apply<Square<2>>, x, {}, options));
    EXPECT_TRUE(gradcheck([](auto a) { return std::vector<Tensor>{tanh(a[0]), sum(exp(a[0]))}; }, x, options));
    const TensorFunction two = [](std::span<const Tensor> a) {
      const auto [u, v] = TwoOutputs<false>::apply(a[0]);
      return std::vector<Tensor>{u, v};
    };
    EXPECT_TRUE(gradcheck(two, x, options));
    EXPECT_TRUE(gradgradcheck(two, x, {}, options));
  }
}

TEST(Gradcheck, InputsThatWantNoGradientAndOtherResultsAreLeftAlone) {
  const std::vector<Tensor> inputs{sample({2, 3}).set_requires_grad(true), sample({3}),
                                   tensor_of<std::int64_t>({2, 0})};
  const TensorFunction f = [](std::span<const Tensor> a) {
    return std::vector<Tensor>{take(multiply(a[0], a[1]), a[2], 1), argmax(a[0], std::nullopt, false), Tensor(),
                               a[0].detach()};
  };
  const auto result = gradcheck(f, inputs);
  EXPECT_TRUE(result) << result.message;
  EXPECT_TRUE(gradgradcheck(f, inputs));
  GradcheckOptions options;
  options.check_forward_ad = true;
  const auto forward = gradcheck(f, inputs, options);
  EXPECT_TRUE(forward) << forward.message;
}

TEST(Gradcheck, StridedAndExpandedInputsKeepTheirForm) {
  const Tensor strided = matrix_transpose(sample({3, 2})).detach();
  const Tensor expanded = broadcast_to(sample({1, 3}), {2, 3}).detach();
  for (const Tensor& x : {strided, expanded}) {
    bool was_contiguous = true;
    const TensorFunction f = [&](std::span<const Tensor> a) {
      was_contiguous = a[0].is_contiguous();
      return std::vector<Tensor>{square(a[0])};
    };
    EXPECT_TRUE(gradcheck(f, leaves(x)));
    EXPECT_EQ(was_contiguous, x.same(expanded));
  }
}

TEST(Gradcheck, WrongLayersAreExplained) {
  const auto x = leaves(tensor_of<double>({1, 2, 3}));
  expect_wrong(
      apply<Square<4>>, x,
      {"[gradcheck] the gradient of output 0 (float64[3]) with respect to input 0 (float64[3]) is wrong in 3 of 9",
       "d output 0[2] / d input 0[2]", "analytical 12, numerical 6", "absolute error 6, relative error 1",
       "the ratio is 2 everywhere"});
  expect_wrong(apply<Square<-2>>, x, {"the sign is flipped"});
  expect_wrong(apply<Forgetful>, x, {"zero everywhere", "Did backward return None"});
  expect_wrong(apply<Untransposed>, x, {"the Jacobian is transposed"});
}

TEST(Gradcheck, NamesMayBeGiven) {
  GradcheckOptions options;
  options.name = "mine";
  options.input_names = {"weight"};
  options.output_names = {"loss"};
  expect_wrong(apply<Square<4>>, leaves(sample({2})),
               {"[mine] the gradient of loss (float64[2]) with respect to weight"}, options);
}

TEST(Gradcheck, DTypesAreCheckedOnRequest) {
  const auto x = leaves(sample({3}));
  EXPECT_TRUE(gradcheck(apply<WrongDType>, x));
  GradcheckOptions options;
  options.check_grad_dtypes = true;
  expect_wrong(apply<WrongDType>, x, {"the gradient of input 0 is float32, the input float64"}, options);
}

TEST(Gradcheck, MissingGradientsCountAsZeros) {
  const TensorFunction f = [](std::span<const Tensor> a) {
    const auto [u, v] = TwoOutputs<true>::apply(a[0]);
    return std::vector<Tensor>{u, v};
  };
  const auto x = leaves(sample({3}));
  expect_wrong(f, x, {"backward fails where only output 0 has a gradient: [TwoOutputs] both gradients are needed"});
  GradcheckOptions options;
  options.check_undefined_grad = false;
  EXPECT_TRUE(gradcheck(f, x, options));
}

TEST(Gradcheck, RandomFunctionsAreFound) {
  double calls = 0;
  const TensorFunction f = [&](std::span<const Tensor> a) {
    calls += 1e-3;
    return std::vector<Tensor>{add(a[0], calls)};
  };
  const auto x = leaves(sample({3}));
  expect_wrong(f, x, {"the function is not deterministic"});
}

TEST(Gradcheck, ComplexLayersFollowTheConjugateConvention) {
  using Complex = std::complex<double>;
  const auto z = leaves(tensor_of<Complex>({{1, 2}, {-0.5, 1}}));
  for (const bool fast : {false, true}) {
    GradcheckOptions options;
    options.fast_mode = fast;
    const auto result = gradcheck(apply<ComplexSquare<true>>, z, options);
    EXPECT_TRUE(result) << result.message;
  }
  expect_wrong(apply<ComplexSquare<false>>, z, {"complex128[2]", "the complex conjugate of the right one"});
}

TEST(Gradcheck, SecondDerivatives) {
  struct WrongSecond : Function<WrongSecond> {
    static Tensor forward(Context& ctx, const Tensor& x) {
      ctx.save_for_backward(x);
      return multiply(x, x);
    }
    static Tensor backward(Context& ctx, const Tensor& dy) {
      const auto [x] = ctx.saved_tensors<1>();
      return multiply(dy, multiply(x.detach(), 2));
    }
  };
  const auto x = leaves(sample({3}));
  EXPECT_TRUE(gradcheck(apply<WrongSecond>, x));
  const auto result = gradgradcheck(apply<WrongSecond>, x);
  EXPECT_FALSE(result);
  for (const char* text :
       {"[gradgradcheck] the gradient of the gradient of input 0", "with respect to input 0", "zero everywhere"}) {
    EXPECT_NE(result.message.find(text), std::string::npos) << result.message;
  }
  const std::vector<Tensor> begin{sample({3}, 1, 5)};
  EXPECT_TRUE(gradgradcheck(apply<Square<2>>, x, begin));
  expect_error<ValueError>([&] { gradgradcheck(apply<Square<2>>, x, std::vector<Tensor>(2, begin[0])); },
                           "[gradgradcheck] got 2 grad_outputs for 1 outputs");
}

TEST(Gradcheck, LayersWithoutASecondDerivativeSaySo) {
  const auto z = leaves(tensor_of<std::complex<double>>({{1, 2}}));
  expect_error<RuntimeError>([&] { gradgradcheck(apply<ComplexSquare<true>>, z); }, "once_differentiable");
}

TEST(Gradcheck, InputsThatCannotBeCheckedAreErrors) {
  const TensorFunction f = apply<Square<2>>;
  const auto check = [&](const Tensor& x, GradcheckOptions options = {}) {
    gradcheck(f, std::vector<Tensor>{x}, options);
  };
  expect_error<ValueError>([&] { check(sample({2})); }, "no input requires a gradient");
  expect_error<ValueError>([&] { check(Tensor()); }, "input 0 is undefined");
  expect_error<ValueError>([&] { check(empty({2}, DType::Float64, kMeta).set_requires_grad(true)); }, "meta device");
  expect_error<ValueError>([&] { check(tensor_of<float>({1}).set_requires_grad(true)); },
                           "input 0 is float32, which is too coarse for differences with eps=1e-06: use float64");
  GradcheckOptions options;
  options.eps = -1;
  expect_error<ValueError>([&] { check(leaves(sample({2}))[0], options); }, "eps must be positive");
  options = {};
  options.check_batched_grad = true;
  const auto batched = gradcheck(f, leaves(sample({2})), options);
  EXPECT_TRUE(batched) << batched.message;
}

TEST(Gradcheck, Float32WithALargerStep) {
  GradcheckOptions options;
  options.eps = options.atol = options.rtol = 1e-2;
  const auto result = gradcheck(apply<Square<2>>, leaves(tensor_of<float>({1, 2})), options);
  EXPECT_TRUE(result) << result.message;
}

}  // namespace
}  // namespace lamella::testing
