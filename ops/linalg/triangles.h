#pragma once

#include "ops/cpu/tables/triangles.h"
#include "ops/linalg/matrices.h"

// Triangular systems of real numbers, by our own kernels: OpenBLAS's (0.3.21) take twice as long with vectors of 64
// bytes.

namespace lamella::linalg {

/// True if there are kernels for matrices like x: real numbers on the CPU.
bool has_triangle_kernel(const Tensor& x);

/// Overwrites the contiguous y with x^-1 y, or x^-T y for triangle.adjoint. x has y's leading axes, and any strides.
void solve_triangles(const Tensor& x, const Tensor& y, Triangle triangle);

}  // namespace lamella::linalg
