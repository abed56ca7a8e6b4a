#pragma once

#include "ops/runtime/onednn.h"

// Declarations of the functions behind the struct Onednn, which the module's sources define.

namespace lamella::detail {

bool onednn_multiplies(DType dtype);
void onednn_product(const MatrixView& a, const MatrixView& b, const void* bias, void* c, std::int64_t batches,
                    DType dtype);
bool onednn_conv(const ConvProblem& problem);

}  // namespace lamella::detail
