#pragma once

// Functions of math.h for the type of their argument, in kernels for the host and for devices.

#include <cmath>

#include "c10/macros/Macros.h"

namespace c10::cuda::compat {

#define C10_COMPAT_UNARY_(name)                                       \
  C10_HOST_DEVICE inline float name(float x) { return ::name##f(x); } \
  C10_HOST_DEVICE inline double name(double x) { return ::name(x); }
C10_COMPAT_UNARY_(ceil)
C10_COMPAT_UNARY_(cos)
C10_COMPAT_UNARY_(exp)
C10_COMPAT_UNARY_(floor)
C10_COMPAT_UNARY_(log)
C10_COMPAT_UNARY_(log1p)
C10_COMPAT_UNARY_(round)
C10_COMPAT_UNARY_(sin)
C10_COMPAT_UNARY_(sqrt)
C10_COMPAT_UNARY_(tan)
C10_COMPAT_UNARY_(tanh)
#undef C10_COMPAT_UNARY_
C10_HOST_DEVICE inline float abs(float x) { return ::fabsf(x); }
C10_HOST_DEVICE inline double abs(double x) { return ::fabs(x); }
C10_HOST_DEVICE inline float max(float a, float b) { return ::fmaxf(a, b); }
C10_HOST_DEVICE inline double max(double a, double b) { return ::fmax(a, b); }
C10_HOST_DEVICE inline float min(float a, float b) { return ::fminf(a, b); }
C10_HOST_DEVICE inline double min(double a, double b) { return ::fmin(a, b); }
C10_HOST_DEVICE inline float pow(float a, float b) { return ::powf(a, b); }
C10_HOST_DEVICE inline double pow(double a, double b) { return ::pow(a, b); }

}  // namespace c10::cuda::compat
