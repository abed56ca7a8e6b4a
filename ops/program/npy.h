#pragma once

#include <filesystem>

#include "engine/core/tensor.h"

namespace lamella {

/// Reads an array in numpy's format NPY, version 1 to 3 (numpy.lib.format), into a tensor of that dtype on the CPU.
/// Complex, boolean, integer and floating-point numbers of little-endian order, as rows; anything else, and a file that
/// is cut off or cannot be opened, is a ValueError that names it.
Tensor read_npy(const std::filesystem::path& path);

/// Writes a tensor, a bfloat16 one as the uint16 of its bits. ValueError if the file cannot be written.
void write_npy(const std::filesystem::path& path, const Tensor& x);

}  // namespace lamella
