#pragma once

#include "engine/core/shape.h"

namespace c10 {

/// A list whose first N elements need no memory of their own.
template <class T, unsigned N = 4>
using SmallVector = lamella::SmallVector<T, N>;

}  // namespace c10
