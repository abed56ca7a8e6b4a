#include "ops/support/device_kernels.h"

namespace lamella::detail {

// Constant-initialized, so that it exists before any static initializer registers a kernel.
constinit DeviceKernels device_kernel_tables[kDeviceTypeCount] = {};

}  // namespace lamella::detail
