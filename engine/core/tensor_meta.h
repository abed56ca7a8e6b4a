#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Describes a tensor without its values: what the checks of a layer's gradients and messages need.
struct TensorMeta {
  Dims shape;
  DType dtype;
  Device device;
  std::uint32_t version = 0;

  TensorMeta() = default;
  explicit TensorMeta(const Tensor& x) : shape(x.shape()), dtype(x.dtype()), device(x.device()), version(x.version()) {}
};

}  // namespace lamella
