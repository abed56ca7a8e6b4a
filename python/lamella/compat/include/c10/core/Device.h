#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "engine/core/device.h"

namespace c10 {

/// PyTorch's names of the kinds of device that Lamella has.
enum class DeviceType : std::int8_t { CPU, CUDA, Meta, PrivateUse1 };
using DeviceIndex = std::int8_t;

inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kMeta = DeviceType::Meta;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;

/// A device; an index of -1 is the current one of its kind.
class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(lamella::Device device)
      : type_(static_cast<DeviceType>(device.type)), index_(device.is_cpu() || device.is_meta() ? -1 : device.index) {}
  /// "cpu", "cuda:1"; ValueError for anything else.
  Device(const std::string& text) : Device(lamella::Device::parse(text)) {}
  Device(const char* text) : Device(std::string(text)) {}

  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ != -1; }
  bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  bool is_meta() const noexcept { return type_ == DeviceType::Meta; }
  bool is_privateuseone() const noexcept { return type_ == DeviceType::PrivateUse1; }
  std::string str() const { return native().str(); }
  lamella::Device native() const {
    return lamella::Device(static_cast<lamella::DeviceType>(type_), index_ < 0 ? 0 : index_);
  }
  friend bool operator==(const Device& a, const Device& b) = default;

 private:
  DeviceType type_;
  DeviceIndex index_;
};

static_assert(static_cast<int>(DeviceType::PrivateUse1) == static_cast<int>(lamella::DeviceType::PrivateUse1) &&
              static_cast<int>(DeviceType::Meta) == static_cast<int>(lamella::DeviceType::Meta));

inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << Device(type).str(); }

}  // namespace c10
