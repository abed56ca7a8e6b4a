// Compiled by check_lane_ptx.py: a formula of floats must stay in float on the GPU, whatever literals it has.
//
// sin, cos and tan are left out, as CUDA's own reduction of a large angle is in double.

#include "ops/simd/hd.h"
#include "ops/simd/lane.h"

namespace {

template <class X>
LM_HD X gelu(const X& x) {
  return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

template <class X>
LM_HD X elu_grad(const X& x, const X& y, const X& dy) {
  return where(x > 0, dy, 0.5 * dy * (1 - y * y));
}

template <class X>
LM_HD X formulas(const X& x, const X& y) {
  return sigmoid(x) + sign(y) + maximum(x, 0.1) + minimum(0.1, y) + reciprocal(x) + square(y) + floor_divide(x, 0.3) +
         remainder(0.3, y) + where(isnan(x) | isinf(y) | !isfinite(x), 0.1, 0.2) + round(x) + floor(y) + trunc(x);
}

template <class X>
LM_HD X functions(const X& x, const X& y) {
  return exp(x) + expm1(y) + exp2(x) + log(y) + log1p(x) + log2(y) + log10(x) + tanh(y) + sinh(x) + cosh(y) + asin(x) +
         acos(y) + atan(x) + erf(y) + erfc(x) + sqrt(y) + abs(x) + pow(x, y) + pow(x, 2.5) + atan2(x, y) + hypot(x, y);
}

template <class F>
__device__ void apply(const float* x, const float* y, float* z, F formula) {
  using X = lamella::simd::Lane<float>;
  const int i = static_cast<int>(threadIdx.x);
  formula(X::load(x + i), X::load(y + i)).store(z + i);
}

}  // namespace

extern "C" {

__global__ void lane_gelu(const float* x, const float* y, float* z) {
  apply(x, y, z, [](auto a, auto) { return gelu(a); });
}
__global__ void lane_elu_grad(const float* x, const float* y, float* z) {
  apply(x, y, z, [](auto a, auto b) { return elu_grad(a, b, a); });
}
__global__ void lane_formulas(const float* x, const float* y, float* z) {
  apply(x, y, z, [](auto a, auto b) { return formulas(a, b); });
}
__global__ void lane_functions(const float* x, const float* y, float* z) {
  apply(x, y, z, [](auto a, auto b) { return functions(a, b); });
}

/// Counterexample: a bare float, whose literals make it double arithmetic.
__global__ void bare_gelu(const float* x, const float*, float* z) {
  const int i = static_cast<int>(threadIdx.x);
  z[i] = static_cast<float>(0.5 * x[i] * (1 + erf(x[i] * 0.7071067811865476)));
}
}
