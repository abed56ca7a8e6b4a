#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Special : public Cuda {};

struct Named {
  const char* name;
  Tensor (*run)(const Tensor& x);
};

const Named kFunctions[] = {
    {"airy_ai", AiryAi::call},
    {"bessel_j0", BesselJ0::call},
    {"bessel_j1", BesselJ1::call},
    {"bessel_y0", BesselY0::call},
    {"bessel_y1", BesselY1::call},
    {"erfcx", Erfcx::call},
    {"i0", I0::call},
    {"i0e", I0e::call},
    {"i1", I1::call},
    {"i1e", I1e::call},
    {"log_ndtr", LogNdtr::call},
    {"logit", [](const Tensor& x) { return Logit::call(x, std::nullopt); }},
    {"modified_bessel_k0", ModifiedBesselK0::call},
    {"modified_bessel_k1", ModifiedBesselK1::call},
    {"ndtri", Ndtri::call},
    {"scaled_modified_bessel_k0", ScaledModifiedBesselK0::call},
    {"scaled_modified_bessel_k1", ScaledModifiedBesselK1::call},
    {"spherical_bessel_j0", SphericalBesselJ0::call},
};

/// Numbers of all sizes and signs, the ends of domains, infinities and NaN.
Tensor arguments(DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Tensor> parts{sample({200}, dtype, -40, 40, 1), sample({200}, dtype, -1, 1, 2)};
  for (const double x : {0.0, 1.0, -1.0, 0.5, 1e-30, infinity, -infinity, std::nan("")}) {
    parts.push_back(full({1}, x, dtype));
  }
  return concat(parts, 0);
}

TEST_F(Special, FunctionsAgreeWithTheCpu) {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const Tensor x = arguments(dtype);
    for (const Named& function : kFunctions) {
      EXPECT_TRUE(agree(function.run(to_device(x, kGpu)), function.run(x))) << function.name << " in " << dtype;
    }
  }
}

TEST_F(Special, GradientsAgreeWithTheCpu) {
  for (const Named& function : kFunctions) {
    std::vector<Tensor> grads;
    for (const Device device : {kCPU, kGpu}) {
      const Tensor x = to_device(sample({100}, DType::Float64, 0.01, 0.99, 1), device).set_requires_grad(true);
      autograd::backward(sum(function.run(x)));
      grads.push_back(x.grad());
    }
    EXPECT_TRUE(agree(grads[1], grads[0])) << function.name;
  }
}

TEST_F(Special, FunctionsOfTwoNumbersAgreeWithTheCpu) {
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor a = concat({sample({300}, dtype, 0, 3, 1), sample({300}, dtype, 20, 90, 2), zeros({3}, dtype)}, 0);
    const Tensor x = concat({sample({300}, dtype, 0, 9, 3), sample({300}, dtype, 15, 95, 4), zeros({3}, dtype)}, 0);
    const Tensor a_there = to_device(a, kGpu);
    const Tensor x_there = to_device(x, kGpu);
    EXPECT_TRUE(agree(GammaInc::call(a_there, x_there), GammaInc::call(a, x))) << dtype;
    EXPECT_TRUE(agree(GammaIncC::call(a_there, x_there), GammaIncC::call(a, x))) << dtype;
    EXPECT_TRUE(agree(GammaIncC::call(Scalar(2.5), x_there), GammaIncC::call(Scalar(2.5), x))) << dtype;
  }
}

TEST_F(Special, PolynomialsAgreeWithTheCpu) {
  using Polynomial = Tensor (*)(const Operand&, const Operand&);
  const Polynomial polynomials[] = {ChebyshevT::call,        ChebyshevU::call,        ChebyshevV::call,
                                    ChebyshevW::call,        ShiftedChebyshevT::call, ShiftedChebyshevU::call,
                                    ShiftedChebyshevV::call, ShiftedChebyshevW::call, HermiteH::call,
                                    HermiteHe::call,         LaguerreL::call,         LegendreP::call};
  const Tensor x = sample({200}, DType::Float64, -1, 1, 1);
  const Tensor degrees = concat({sample({150}, DType::Int64, -1, 9, 2), sample({50}, DType::Int64, 60, 80, 3)}, 0);
  const Tensor n = cast(degrees, DType::Float64);
  for (std::size_t i = 0; i < std::size(polynomials); ++i) {
    const Tensor expected = polynomials[i](x, n);
    EXPECT_TRUE(agree(polynomials[i](to_device(x, kGpu), to_device(n, kGpu)), expected, 1e-10)) << i;
    EXPECT_TRUE(agree(polynomials[i](to_device(x, kGpu), Scalar(7)), polynomials[i](x, Scalar(7)), 1e-10)) << i;
  }
}

TEST_F(Special, MantissasAndDivisorsAgreeWithTheCpu) {
  for (const DType dtype : {DType::Float16, DType::Float32, DType::Float64}) {
    const Tensor x = arguments(dtype);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_TRUE(agree(Frexp::call(to_device(x, kGpu))[k], Frexp::call(x)[k], 0)) << dtype;
    }
  }
  const Tensor a = sample({500}, DType::Int32, -90, 90, 1);
  const Tensor b = sample({500}, DType::Int32, -90, 90, 2);
  EXPECT_TRUE(agree(Gcd::call(to_device(a, kGpu), to_device(b, kGpu)), Gcd::call(a, b), 0));
  EXPECT_TRUE(agree(Lcm::call(to_device(a, kGpu), to_device(b, kGpu)), Lcm::call(a, b), 0));
}

}  // namespace
}  // namespace lamella::test
