#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/core/dtype.h"

namespace lamella::registry {

/// Returns the dtype that PyTorch's schemas and programs write as a number; none where it has no such dtype here.
constexpr std::optional<DType> dtype_of_number(std::int64_t number) {
  constexpr std::array<std::optional<DType>, 30> kDTypes = [] {
    std::array<std::optional<DType>, 30> all{};
    all[0] = DType::UInt8;
    all[1] = DType::Int8;
    all[2] = DType::Int16;
    all[3] = DType::Int32;
    all[4] = DType::Int64;
    all[5] = DType::Float16;
    all[6] = DType::Float32;
    all[7] = DType::Float64;
    all[9] = DType::Complex64;
    all[10] = DType::Complex128;
    all[11] = DType::Bool;
    all[15] = DType::BFloat16;
    all[27] = DType::UInt16;
    all[28] = DType::UInt32;
    all[29] = DType::UInt64;
    return all;
  }();
  return number >= 0 && number < std::int64_t{kDTypes.size()} ? kDTypes[static_cast<std::size_t>(number)]
                                                              : std::nullopt;
}

}  // namespace lamella::registry
