#include "engine/runtime/source_kernels.h"

#include "engine/core/error.h"

namespace lamella {
namespace {

/// Never destroyed: kernels may be launched until the process ends.
KernelCompiler*& compiler_of(DeviceType type) {
  static constinit std::array<KernelCompiler*, kDeviceTypeCount> compilers{};
  return compilers[static_cast<std::size_t>(type)];
}

}  // namespace

void register_kernel_compiler(DeviceType type, std::unique_ptr<KernelCompiler> compiler) {
  compiler_of(type) = compiler.release();
}

KernelCompiler& kernel_compiler(Device device, const char* label) {
  if (KernelCompiler* const compiler = compiler_of(device.type)) return *compiler;
  fail<RuntimeError>("[", label, "] ", device, " has no kernels in this build of Lamella");
}

}  // namespace lamella
