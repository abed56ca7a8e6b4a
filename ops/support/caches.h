#pragma once

#include <cstddef>

namespace lamella {

/// True if `bytes` bytes exceed the last-level cache. See Note [Large outputs] in ops/cpu/stream.h.
bool outgrow_caches(std::size_t bytes);

}  // namespace lamella
