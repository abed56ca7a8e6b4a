#pragma once

#include <cstdint>
#include <string>

#include "engine/core/dtype.h"

namespace lamella::detail {

struct ConvProblem;
struct MatrixView;

/// What the module liblamella_onednn.so gives. It alone is linked with oneDNN, so that the library loads where oneDNN
/// is absent.
struct Onednn {
  /// Whether it multiplies matrices of this dtype by instructions of the processor: float32, and bfloat16 where there
  /// are some.
  bool (*multiplies)(DType dtype);
  /// c = a @ b + bias (null for none), all of one dtype, computed in float32; c lies row after row, matrix after
  /// matrix.
  void (*product)(const MatrixView& a, const MatrixView& b, const void* bias, void* c, std::int64_t batches,
                  DType dtype);
  /// False where it does not have the convolution: a dtype that this processor lacks, or sizes beyond its own.
  bool (*conv)(const ConvProblem& problem);
  /// The version of oneDNN that is loaded, such as "2.6.3".
  std::string (*version)();
};

/// The functions of the module, which is loaded with the first call; null where there is none, or no oneDNN for it.
const Onednn* onednn();

/// The version of oneDNN, or why there is none.
std::string describe_onednn();

}  // namespace lamella::detail
