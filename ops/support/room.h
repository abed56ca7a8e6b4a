#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Throws OutOfMemoryError before the computation starts if there is no memory for its result, or ValueError if the
/// number of elements overflows. Cheap: the system commits memory only when it is written to, and the allocator keeps
/// the block for the result.
inline void check_room_for(DimsView shape, DType dtype, Device device) {
  static_cast<void>(empty(shape, dtype, device));
}

}  // namespace lamella
