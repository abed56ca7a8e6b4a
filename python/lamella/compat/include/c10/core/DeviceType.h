#pragma once

#include <cctype>
#include <cstdint>
#include <string>

#include "engine/core/device.h"
#include "engine/core/privateuse1.h"

namespace c10 {

/// PyTorch's names of the kinds of device that Lamella has.
enum class DeviceType : std::int8_t { CPU, CUDA, Meta, PrivateUse1 };
using DeviceIndex = std::int8_t;

inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kMeta = DeviceType::Meta;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;

static_assert(static_cast<int>(DeviceType::PrivateUse1) == static_cast<int>(lamella::DeviceType::PrivateUse1) &&
              static_cast<int>(DeviceType::Meta) == static_cast<int>(lamella::DeviceType::Meta));

/// Names the devices of an extension; RuntimeError if they have another name. lamella::register_device_backend() of
/// <lamella/device.h> registers the devices themselves.
inline void register_privateuse1_backend(const std::string& name) { lamella::rename_privateuse1_backend(name); }
/// Returns the name of the extension's devices, "privateuse1" until it has one; in upper case unless `lower_case`.
inline std::string get_privateuse1_backend(bool lower_case = true) {
  std::string name(lamella::privateuse1_backend_name());
  if (!lower_case) {
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}
inline bool is_privateuse1_backend_registered() { return lamella::is_privateuse1_renamed(); }

}  // namespace c10
