#pragma once

#include <utility>

#include "engine/core/tensor.h"

namespace lamella {

/// Returns a view of x [..., m, n] as [..., n, m], off the tape.
inline Tensor matrices_transposed(const Tensor& x) {
  Dims shape = x.shape();
  Dims strides = x.strides();
  std::swap(shape.end()[-1], shape.end()[-2]);
  std::swap(strides.end()[-1], strides.end()[-2]);
  return make_view(x, shape, strides);
}

}  // namespace lamella
