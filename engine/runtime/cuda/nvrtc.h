#pragma once

#include <string>

#include "engine/runtime/source_kernels.h"

namespace lamella::cuda {

/// Machine code with one kernel, or code in between (PTX) that the driver compiles.
struct KernelImage {
  /// The kernel's name in it.
  std::string symbol;
  std::string bytes;
};

/// Returns the text that decides, beside a source, what compile() makes for a compute capability, 90 for 9.0: version
/// and options. NVRTC is loaded with the first call: the file of LAMELLA_NVRTC_LIBRARY, or else that of the CUDA that
/// Lamella was built with. Throws RuntimeError if it is not there.
std::string compiler_identity(int capability, const KernelSource& source);

/// Compiles a kernel. Throws RuntimeError, with the compiler's messages, if that fails.
KernelImage compile(int capability, const KernelSource& source);

}  // namespace lamella::cuda
