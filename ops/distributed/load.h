#pragma once

#include <string>

#include "engine/distributed/backend.h"

namespace lamella::distributed {

/// Returns the factory of a backend: one that was registered, or that of the module liblamella_<name>.so, which lies
/// beside the library and is loaded with the first call. Throws RuntimeError if there is none, or if it does not load.
BackendFactory load_backend(const std::string& name);

}  // namespace lamella::distributed
