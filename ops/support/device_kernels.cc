#include "ops/support/device_kernels.h"

namespace lamella::detail {

// Constant, so that it is there before the first of the kernels is registered.
constinit DeviceKernels device_kernel_tables[kDeviceTypeCount] = {};

}  // namespace lamella::detail
