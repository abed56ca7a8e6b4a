#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Computes out = a @ b for two matrices of at least one element, and the sums of the rows of a in the same pass; all
/// of one floating dtype, `out` and `sums` contiguous. Returns false, and has written nothing, where the library of the
/// device has no algorithm for it.
using MatmulAndSum = bool (*)(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& sums, const char* op);

/// The kernel of CUDA. Beside DeviceKernels, as no operator asks for it: where it is null, or returns false, a product
/// and a sum do the same.
inline MatmulAndSum matmul_and_sum_on_cuda = nullptr;

}  // namespace lamella
