#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace lamella {

/// The kind of a device. Meta tensors have a shape but no data. PrivateUse1 is for a device that an extension brings.
enum class DeviceType : std::uint8_t { CPU, CUDA, Meta, PrivateUse1 };

inline constexpr std::size_t kDeviceTypeCount = 4;

/// A device: its kind and, if there can be several, its index.
struct Device {
  DeviceType type = DeviceType::CPU;
  std::int8_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType type, int index = 0) : type(type), index(static_cast<std::int8_t>(index)) {}
  /// Parses "cpu", "meta", "cuda" (this thread's current one), "cuda:1"; throws ValueError for anything else.
  static Device parse(std::string_view text);
  std::string str() const;

  constexpr bool is_cpu() const { return type == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type == DeviceType::Meta; }
  friend constexpr bool operator==(Device a, Device b) = default;
};

namespace detail {
/// Index of this thread's current CUDA device, for which "cuda" stands.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit int current_cuda;
}  // namespace detail

inline constexpr Device kCPU{DeviceType::CPU};
inline constexpr Device kMeta{DeviceType::Meta};

std::ostream& operator<<(std::ostream& out, Device device);

}  // namespace lamella
