#pragma once

#include <cstdint>
#include <string>

#include "engine/core/dtype.h"

namespace lamella::detail {

struct ConvProblem;
struct MatrixView;

/// The functions of the module liblamella_onednn.so. Only that module links oneDNN, so that the library loads without
/// oneDNN.
struct Onednn {
  /// True if the processor has matrix instructions for `dtype`: always for float32, on some processors for bfloat16.
  bool (*multiplies)(DType dtype);
  /// Computes c = a @ b + bias (`bias` may be null), all of one dtype, accumulated in float32; c is contiguous.
  void (*product)(const MatrixView& a, const MatrixView& b, const void* bias, void* c, std::int64_t batches,
                  DType dtype);
  /// Returns false if oneDNN lacks the convolution: a dtype that this processor does not support, or sizes out of its
  /// range.
  bool (*conv)(const ConvProblem& problem);
  /// Returns the version of oneDNN that is loaded, such as "2.6.3".
  std::string (*version)();
};

/// Returns the functions of the module, loading it with the first call, or null if the module or oneDNN is missing.
const Onednn* onednn();

/// Returns the version of oneDNN, or the reason why it is not loaded.
std::string describe_onednn();

}  // namespace lamella::detail
