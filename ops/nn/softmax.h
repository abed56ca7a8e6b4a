#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Softmax {
  static constexpr OpInfo info{.name = "softmax",
                               .doc = "exp(x) divided by its sum along an axis. A row of minus infinities gives NaN.",
                               .parameters = "x, /, axis=-1",
                               .example = "softmax(ones([2, 3]))",
                               .reference = "sp.softmax(x, axis)",
                               .dtypes = Floating,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, std::int64_t axis);
};

struct LogSoftmax {
  static constexpr OpInfo info{.name = "log_softmax",
                               .doc = "The logarithm of softmax, without its rounding to 0.",
                               .parameters = "x, /, axis=-1",
                               .example = "log_softmax(ones([2, 3]))",
                               .reference = "sp.log_softmax(x, axis)",
                               .dtypes = Floating,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, std::int64_t axis);
};

inline Tensor softmax(const Tensor& x, std::int64_t axis = -1) { return Softmax::call(x, axis); }
inline Tensor log_softmax(const Tensor& x, std::int64_t axis = -1) { return LogSoftmax::call(x, axis); }

/// What a device other than the CPU brings: rows of contiguous data.
struct SoftmaxLauncher {
  void (*forward)(Device device, DType dtype, const void* x, void* y, std::int64_t rows, std::int64_t width, bool log);
  void (*backward)(Device device, DType dtype, const void* y, const void* dy, void* dx, std::int64_t rows,
                   std::int64_t width, bool log);
};
void register_softmax_launcher(DeviceType type, SoftmaxLauncher launcher);

}  // namespace lamella
