#pragma once

#include <cstdint>

namespace lamella {

/// Returns the bytes of memory that the machine has, or that this process's control group (a container) may use, if
/// that is less.
std::int64_t machine_memory() noexcept;

}  // namespace lamella
