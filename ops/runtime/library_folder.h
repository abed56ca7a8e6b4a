#pragma once

#include <filesystem>
#include <string_view>

namespace lamella::detail {

/// Returns the folder of this library; the modules that it loads lie beside it.
std::filesystem::path library_folder();

/// True if the text of dlerror() reports a lack of memory, after which loading may be tried again.
bool lacked_memory(std::string_view error);

}  // namespace lamella::detail
