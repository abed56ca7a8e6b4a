#pragma once

#include <lamella/lamella.h>

namespace custom_ops {

/// Returns sqrt(x*x + y*y), with a gradient.
lamella::Tensor hypot(const lamella::Tensor& x, const lamella::Tensor& y);

}  // namespace custom_ops
