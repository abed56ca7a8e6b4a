#pragma once

#include <string>

#include "engine/distributed/backend.h"

namespace lamella::distributed {

/// Returns the factory of a backend: one that was registered, or that of the module liblamella_<name>.so, which lies
/// beside the library and is loaded with the first call. Throws RuntimeError if there is none, or if it does not load.
BackendFactory load_backend(const std::string& name);

/// Loads a type of device's library by its name, such as "nccl"; `file` is where it lies if it is none of the system's.
/// Throws RuntimeError where this build does not know it, or where it is not here.
void load_device_library(const std::string& name, const std::string& file);

}  // namespace lamella::distributed
