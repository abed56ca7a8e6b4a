#pragma once

#include "ops/runtime/onednn.h"

// What the sources of the module define: see the struct Onednn.

namespace lamella::detail {

bool onednn_multiplies(DType dtype);
void onednn_product(const MatrixView& a, const MatrixView& b, const void* bias, void* c, std::int64_t batches,
                    DType dtype);
bool onednn_conv(const ConvProblem& problem);

}  // namespace lamella::detail
