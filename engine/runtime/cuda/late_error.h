#pragma once

#include <cstdint>

#include "engine/core/device.h"
#include "engine/runtime/late_error.h"

namespace lamella::cuda {

/// The first error that kernels of a device have found and the host has not raised, in memory of the host.
struct LateErrorSlot {
  enum State : unsigned { kFree, kTaken, kComplete };

  unsigned state;
  RaiseLate raise;
  const char* op;
  std::int64_t numbers[3];
};

/// What a kernel is given to report an error with; see ops/cuda/report.h.
struct LateReport {
  LateErrorSlot* slot;
  RaiseLate raise;
  const char* op;  ///< lives as long as the process
};

/// Returns what a kernel on a device needs for errors of `op`.
LateReport late_report(Device device, RaiseLate raise, const char* op);

/// Throws the error that kernels of the device have reported, if there is one, and forgets it. To be called once the
/// host has waited for their stream.
void raise_late_error(Device device);

/// Calls raise_late_error() if launches wait for their kernels, which the environment variable CUDA_LAUNCH_BLOCKING
/// asks of CUDA. To be called behind the launch of a kernel that reports.
void raise_if_blocking(Device device);

}  // namespace lamella::cuda
