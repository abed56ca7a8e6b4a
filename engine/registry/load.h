#pragma once

#include <string>
#include <vector>

namespace lamella::registry {

/// Loads a shared library whose operators register themselves; its path, absolute and without links, is returned. A
/// library that is loaded already is left as it is.
///
/// RuntimeError where there is no such file, where it is no library for this machine, where it was built for another
/// ABI version of Lamella (found before any of its code runs; names both), where a symbol is missing, or where its
/// registrations are wrong: they are then taken back, and the library is closed.
std::string load_library(const std::string& path);
/// The paths that load_library() returned, in order.
std::vector<std::string> loaded_libraries();

}  // namespace lamella::registry
