#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"

namespace lamella {

struct Softmax {
  static constexpr OpInfo info{.name = "softmax",
                               .doc =
                                   "exp(x) divided by its sum along an axis. A row of minus infinities gives NaN. x is "
                                   "cast to `dtype` first, where one is given.",
                               .parameters = "x, /, axis=-1, *, dtype=None",
                               .example = "softmax(ones([2, 3]))",
                               .reference = "sp.softmax(x, axis)",
                               .dtypes = Floating,
                               .autocast = Autocast::Float32,
                               .out = true,
                               .in_place = true,
                               .asks_device = true};
  static Tensor call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype);
};

struct LogSoftmax {
  static constexpr OpInfo info{
      .name = "log_softmax",
      .doc = "The logarithm of softmax, without its rounding to 0. x is cast to `dtype` first, where one is given.",
      .parameters = "x, /, axis=-1, *, dtype=None",
      .example = "log_softmax(ones([2, 3]))",
      .reference = "sp.log_softmax(x, axis)",
      .dtypes = Floating,
      .autocast = Autocast::Float32,
      .out = true,
      .asks_device = true};
  static Tensor call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype);
};

/// Returns the name of softmax, or of its logarithm.
constexpr const char* softmax_name(bool log) { return log ? LogSoftmax::info.name : Softmax::info.name; }

struct Softmin {
  static constexpr OpInfo info{.name = "softmin",
                               .doc = "softmax of -x. x is cast to `dtype` first, where one is given.",
                               .parameters = "x, /, axis=-1, *, dtype=None",
                               .example = "softmin(ones([2, 3]))",
                               .reference = "sp.softmax(-x, axis)",
                               .dtypes = Floating,
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype);
};

struct GumbelSoftmax {
  static constexpr OpInfo info{
      .name = "gumbel_softmax",
      .doc =
          "softmax((x + g) / tau) with noise g of Gumbel's distribution (Jang et al., 2016; Maddison et al., 2016). "
          "With "
          "`hard`, 1 at its largest element and 0 elsewhere, with the gradient of the soft one.",
      .parameters = "x, /, tau=1.0, hard=False, axis=-1, *, generator=None",
      .example = "gumbel_softmax(ones([2, 3]), hard=True)",
      .dtypes = Floating,
      .method = false};
  /// Throws ValueError if tau is not above 0, or for a generator of another device.
  static Tensor call(const Tensor& x, double tau, bool hard, std::int64_t axis, Generator* generator);
};

inline Tensor softmax(const Tensor& x, std::int64_t axis = -1, std::optional<DType> dtype = std::nullopt) {
  return Softmax::call(x, axis, dtype);
}
inline Tensor log_softmax(const Tensor& x, std::int64_t axis = -1, std::optional<DType> dtype = std::nullopt) {
  return LogSoftmax::call(x, axis, dtype);
}

inline Tensor softmin(const Tensor& x, std::int64_t axis = -1, std::optional<DType> dtype = std::nullopt) {
  return Softmin::call(x, axis, dtype);
}
inline Tensor gumbel_softmax(const Tensor& x, double tau = 1, bool hard = false, std::int64_t axis = -1,
                             Generator* generator = nullptr) {
  return GumbelSoftmax::call(x, tau, hard, axis, generator);
}

}  // namespace lamella
