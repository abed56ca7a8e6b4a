#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Refuses a result that there is no memory for before the work for it begins: OutOfMemoryError, or ValueError where
/// its elements cannot be counted. Costs little: the system gives memory only as it is written to, and the allocator
/// keeps the block for the result.
inline void check_room_for(DimsView shape, DType dtype, Device device) {
  static_cast<void>(empty(shape, dtype, device));
}

}  // namespace lamella
