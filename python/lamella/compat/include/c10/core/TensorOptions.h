#pragma once

#include <optional>

#include "c10/core/Device.h"
#include "c10/core/ScalarType.h"

namespace c10 {

/// Layout of tensors, which is always strided here.
enum class Layout : std::int8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;

/// Order of a tensor's elements in its memory; Preserve is that of the tensor which another is made of.
enum class MemoryFormat : std::int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

/// Options of a new tensor: dtype, device, and whether it wants a gradient.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(Layout) {}
  TensorOptions(MemoryFormat format) : format_(format) {}

  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> type) const {
    TensorOptions other = *this;
    other.dtype_ = type;
    return other;
  }
  [[nodiscard]] TensorOptions device(std::optional<Device> device) const {
    TensorOptions other = *this;
    other.device_ = device;
    return other;
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  [[nodiscard]] TensorOptions requires_grad(bool value) const {
    TensorOptions other = *this;
    other.requires_grad_ = value;
    return other;
  }
  [[nodiscard]] TensorOptions layout(Layout) const { return *this; }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> format) const {
    TensorOptions other = *this;
    other.format_ = format;
    return other;
  }
  [[nodiscard]] TensorOptions pinned_memory(bool) const { return *this; }

  ScalarType dtype() const { return dtype_.value_or(ScalarType::Float); }
  Device device() const { return device_.value_or(Device(DeviceType::CPU)); }
  Layout layout() const { return Layout::Strided; }
  std::optional<MemoryFormat> memory_format_opt() const { return format_; }
  bool requires_grad() const { return requires_grad_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }

  // Options in the types of Lamella's operators.
  std::optional<lamella::DType> native_dtype() const {
    return dtype_ ? std::optional(to_dtype(*dtype_)) : std::nullopt;
  }
  std::optional<lamella::Device> native_device() const {
    return device_ ? std::optional(device_->native()) : std::nullopt;
  }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> format_;
  bool requires_grad_ = false;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions device(DeviceType type, DeviceIndex index = -1) { return TensorOptions(Device(type, index)); }
inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }

}  // namespace c10
