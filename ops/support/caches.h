#pragma once

#include <cstddef>

namespace lamella {

/// Whether so many bytes do not fit into the last cache together. See Note [Large outputs] in ops/cpu/stream.h.
bool outgrow_caches(std::size_t bytes);

}  // namespace lamella
