#pragma once

#include <filesystem>
#include <string_view>

namespace lamella::detail {

/// The folder of this library, beside which the modules lie that it loads.
std::filesystem::path library_folder();

/// True if dlerror() tells of memory that could not be had, and the library may load at another time.
bool lacked_memory(std::string_view error);

}  // namespace lamella::detail
