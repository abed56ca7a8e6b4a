#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor_impl.h"

namespace lamella {

/// Shape and strides of all that a tensor shows of its memory: the axes that vmap hides, then the others.
struct PhysicalLayout {
  Dims shape;
  Dims strides;

  explicit PhysicalLayout(const TensorImpl& x) {
    if (x.hidden) {
      for (const HiddenAxis& axis : *x.hidden) {
        shape.push_back(axis.size);
        strides.push_back(axis.stride);
      }
    }
    for (const std::int64_t size : x.shape) shape.push_back(size);
    for (const std::int64_t stride : x.strides) strides.push_back(stride);
  }
};

/// The first byte of a tensor's elements, and the one past the last.
struct MemoryExtent {
  char* low;
  char* high;

  explicit MemoryExtent(const TensorImpl& x) noexcept : low(x.data), high(x.data + item_size(x.dtype)) {
    for (std::size_t i = 0; i < x.shape.size(); ++i) reach(x, x.shape[i], x.strides[i]);
    if (x.hidden) {
      for (const HiddenAxis& axis : *x.hidden) reach(x, axis.size, axis.stride);
    }
  }
  bool meets(const MemoryExtent& other) const noexcept { return low < other.high && other.low < high; }

 private:
  void reach(const TensorImpl& x, std::int64_t size, std::int64_t stride) noexcept {
    const std::int64_t bytes =
        (std::max<std::int64_t>(size, 1) - 1) * stride * static_cast<std::int64_t>(item_size(x.dtype));
    (bytes < 0 ? low : high) += bytes;
  }
};

}  // namespace lamella
