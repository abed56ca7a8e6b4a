#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

// The part of the CUDA driver's C interface in use, declared here so that builds need none of its files. It is the same
// in every version from 11 on.

namespace lamella::cuda {

enum class DriverResult : int { Success = 0 };
enum class FunctionAttribute : int { MaxDynamicSharedBytes = 8 };

struct DriverContext;   // the driver's own
struct DriverModule;    // the driver's own
struct DriverFunction;  // the driver's own

/// The functions in use, which bear the driver's names there.
struct Driver {
  DriverResult (*error_name)(DriverResult result, const char** name);
  DriverResult (*error_string)(DriverResult result, const char** text);
  DriverResult (*device_get)(int* device, int index);
  DriverResult (*retain_primary_context)(DriverContext** context, int device);
  DriverResult (*set_current_context)(DriverContext* context);
  DriverResult (*load_module)(DriverModule** module, const void* image);
  DriverResult (*get_function)(DriverFunction** function, DriverModule* module, const char* name);
  DriverResult (*set_attribute)(DriverFunction* function, FunctionAttribute attribute, int value);
  DriverResult (*launch)(DriverFunction* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared, cudaStream_t stream, void** arguments,
                         void** extra);
};

/// Returns the functions, loading the library with the first call. Throws RuntimeError if it, or one of them, is
/// missing.
const Driver& driver();

/// Throws RuntimeError with the driver's own text if a call failed; `op` opens the message.
void check(DriverResult result, std::string_view op);

}  // namespace lamella::cuda
