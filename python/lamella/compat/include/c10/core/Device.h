#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "c10/core/DeviceType.h"

namespace c10 {

/// A device; an index of -1 is the current one of its kind.
class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(lamella::Device device)
      : type_(static_cast<DeviceType>(device.type)), index_(device.is_cpu() || device.is_meta() ? -1 : device.index) {}
  /// Parses "cpu", "cuda:1" and the like; ValueError for anything else.
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
    const int current = is_privateuseone() ? lamella::detail::current_privateuse1 : 0;
    return lamella::Device(static_cast<lamella::DeviceType>(type_), index_ < 0 ? current : index_);
  }
  friend bool operator==(const Device& a, const Device& b) = default;

 private:
  DeviceType type_;
  DeviceIndex index_;
};

inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << Device(type).str(); }

}  // namespace c10
