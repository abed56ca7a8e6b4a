#include "engine/runtime/cuda/driver.h"

#include "engine/core/error.h"
#include "engine/runtime/shared_library.h"

namespace lamella::cuda {
namespace {

Driver load() {
  const SharedLibrary library({.needed = "[cuda.kernel] kernels need CUDA's driver", .files = {"libcuda.so.1"}});
  Driver found{};
  library.find("cuGetErrorName", found.error_name);
  library.find("cuGetErrorString", found.error_string);
  library.find("cuDeviceGet", found.device_get);
  library.find("cuDevicePrimaryCtxRetain", found.retain_primary_context);
  library.find("cuCtxSetCurrent", found.set_current_context);
  library.find("cuModuleLoadData", found.load_module);
  library.find("cuModuleGetFunction", found.get_function);
  library.find("cuFuncSetAttribute", found.set_attribute);
  library.find("cuLaunchKernel", found.launch);
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver functions = load();
  return functions;
}

void check(DriverResult result, std::string_view op) {
  if (result == DriverResult::Success) return;
  const char* name = nullptr;
  const char* text = nullptr;
  driver().error_name(result, &name);
  driver().error_string(result, &text);
  fail<RuntimeError>("[", op, "] CUDA: ", text ? text : "unknown error", " (", name ? name : "no name", ")");
}

}  // namespace lamella::cuda
