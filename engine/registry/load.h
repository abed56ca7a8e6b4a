#pragma once

#include <string>
#include <vector>

namespace lamella::registry {

/// Loads a shared library whose operators register themselves; returns its path, absolute and without links. A library
/// that is loaded already is left as it is.
///
/// Throws RuntimeError if there is no such file, if it is not a library for this machine, if it was built for another
/// ABI version of Lamella (detected before any of its code runs; names both versions), if a symbol is missing, or if
/// its registrations are wrong: they are then removed, and the library is closed.
std::string load_library(const std::string& path);
/// Returns the paths that load_library() returned, in order.
std::vector<std::string> loaded_libraries();

}  // namespace lamella::registry
