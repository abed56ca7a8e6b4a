#pragma once

#include <filesystem>

namespace lamella::detail {

/// The folder of this library, beside which the modules lie that it loads.
std::filesystem::path library_folder();

}  // namespace lamella::detail
