#pragma once

#include <utility>

#include "engine/core/tensor.h"
#include "ops/linalg/matrices.h"

// Factorizations on devices that have kernels of their own for them (DeviceKernels): the functions of factor.h with the
// same arguments, composed of a few kernels and of operators. The host waits for the device only where an error has to
// be found: once per call.

namespace lamella::linalg::there {

/// True if the device of x has the kernels.
bool has_kernels(const Tensor& x);

std::pair<Tensor, Tensor> cholesky(const Tensor& x, bool allowed, const char* op);
Tensor cholesky_inverse(const Tensor& factor, bool upper, const char* op);
Factors factor(const Tensor& x, Singular singular, const char* op);
Tensor solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op);
/// An exchange with a row that does not exist is left out.
Tensor permutation(const Tensor& pivots, std::int64_t rows, const char* op);
std::pair<Tensor, Tensor> inverse(const Tensor& x, Singular singular, const char* op);
Tensor triangular(const Tensor& x, const Tensor& b, Triangle triangle, const char* op);
/// Returns the sign and the logarithm of the magnitude of the determinants, and the determinants.
std::pair<Tensor, Tensor> slogdet(const Factors& factors);
Tensor det(const Factors& factors);

std::pair<Tensor, Tensor> reflections(const Tensor& x, const char* op);
Tensor reflect(const Tensor& x, const Tensor& tau, const Tensor& c, bool adjoint, const char* op);
std::pair<Tensor, Tensor> qr(const Tensor& x, bool complete, const char* op);

std::pair<Tensor, Tensor> eigh(const Tensor& x, bool vectors, const char* op);
Singulars svd(const Tensor& x, SingularVectors vectors, const char* op);
LeastSquares least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                           const char* op);

}  // namespace lamella::linalg::there
