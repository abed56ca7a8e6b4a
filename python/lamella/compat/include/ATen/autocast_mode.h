#pragma once

#include <vector>

#include "ATen/Functions.h"
#include "engine/autograd/autocast/autocast.h"

namespace at::autocast {

inline bool is_autocast_enabled(c10::DeviceType type) {
  return lamella::autograd::is_autocast_enabled(Device(type).native().type);
}
inline bool is_cpu_enabled() { return is_autocast_enabled(kCPU); }
inline bool is_enabled() { return is_autocast_enabled(kCUDA); }
/// Returns the dtype to which autocast casts.
inline ScalarType get_autocast_dtype(c10::DeviceType type) {
  return to_scalar_type(lamella::autograd::autocast_dtype(Device(type).native().type));
}
inline ScalarType get_autocast_gpu_dtype() { return get_autocast_dtype(kCUDA); }

/// Casts a floating tensor of that kind of device, unless it is of float64; others are returned as they are.
inline Tensor cached_cast(ScalarType type, const Tensor& x, c10::DeviceType device = kCUDA) {
  const bool cast = x.is_floating_point() && x.scalar_type() != kDouble && x.device().type() == device;
  return cast ? x.to(type) : x;
}
inline std::optional<Tensor> cached_cast(ScalarType type, const std::optional<Tensor>& x,
                                         c10::DeviceType device = kCUDA) {
  return x ? std::optional(cached_cast(type, *x, device)) : std::nullopt;
}
inline std::vector<Tensor> cached_cast(ScalarType type, TensorList tensors, c10::DeviceType device = kCUDA) {
  std::vector<Tensor> made;
  made.reserve(tensors.size());
  for (const Tensor& x : tensors) made.push_back(cached_cast(type, x, device));
  return made;
}

}  // namespace at::autocast
