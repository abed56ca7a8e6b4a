#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Zeros {
  static constexpr OpInfo info{.name = "zeros",
                               .doc = "A tensor of zeros; float32 on the CPU unless said otherwise.",
                               .parameters = "shape, *, dtype=None, device=None",
                               .example = "zeros([2, 3])",
                               .reference = "np.zeros(shape, dtype)",
                               .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device);
};

struct Ones {
  static constexpr OpInfo info{.name = "ones",
                               .doc = "A tensor of ones; float32 on the CPU unless said otherwise.",
                               .parameters = "shape, *, dtype=None, device=None",
                               .example = "ones([2, 3])",
                               .reference = "np.ones(shape, dtype)",
                               .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device);
};

struct Full {
  static constexpr OpInfo info{
      .name = "full",
      .doc = "A tensor filled with a number. The dtype, unless given, follows the number: bool, int64 or float32.",
      .parameters = "shape, fill_value, *, dtype=None, device=None",
      .example = "full([2, 3], 7)",
      .reference = "np.full(shape, fill_value, dtype)",
      .method = false};
  static Tensor call(const Dims& shape, Scalar fill_value, std::optional<DType> dtype, std::optional<Device> device);
};

struct Empty {
  static constexpr OpInfo info{
      .name = "empty",
      .doc = "A tensor whose contents are undefined; float32 on the CPU unless said otherwise.",
      .parameters = "shape, *, dtype=None, device=None",
      .example = "empty([2, 3]).shape",
      .method = false};
  static Tensor call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device);
};

struct ZerosLike {
  static constexpr OpInfo info{.name = "zeros_like",
                               .doc = "Zeros with the shape, dtype and device of x, unless said otherwise.",
                               .parameters = "x, /, *, dtype=None, device=None",
                               .example = "zeros_like(ones([2, 3]))",
                               .reference = "np.zeros_like(x)",
                               .method = false};
  static Tensor call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device);
};

struct OnesLike {
  static constexpr OpInfo info{.name = "ones_like",
                               .doc = "Ones with the shape, dtype and device of x, unless said otherwise.",
                               .parameters = "x, /, *, dtype=None, device=None",
                               .example = "ones_like(zeros([2, 3]))",
                               .reference = "np.ones_like(x)",
                               .method = false};
  static Tensor call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device);
};

struct FullLike {
  static constexpr OpInfo info{
      .name = "full_like",
      .doc = "A tensor filled with a number, with the shape, dtype and device of x, unless said otherwise.",
      .parameters = "x, /, fill_value, *, dtype=None, device=None",
      .example = "full_like(zeros([2, 3]), 7)",
      .reference = "np.full_like(x, fill_value)",
      .method = false};
  static Tensor call(const Tensor& x, Scalar fill_value, std::optional<DType> dtype, std::optional<Device> device);
};

struct EmptyLike {
  static constexpr OpInfo info{
      .name = "empty_like",
      .doc = "A tensor with undefined contents, with the shape, dtype and device of x, unless said otherwise.",
      .parameters = "x, /, *, dtype=None, device=None",
      .example = "empty_like(zeros([2, 3])).shape",
      .method = false};
  static Tensor call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device);
};

struct Arange {
  static constexpr OpInfo info{
      .name = "arange",
      .doc =
          "The numbers from start (included) to stop (excluded), step apart; with one number, from 0 to it. The "
          "dtype, unless given, is int64 for integers and float32 otherwise.",
      .parameters = "start, /, stop=None, step=1, *, dtype=None, device=None",
      .example = "arange(2, 10, 3)",
      .reference = "np.arange(start, stop, step, dtype)",
      .method = false};
  static Tensor call(Scalar start, std::optional<Scalar> stop, Scalar step, std::optional<DType> dtype,
                     std::optional<Device> device);
};

struct Linspace {
  static constexpr OpInfo info{.name = "linspace",
                               .doc =
                                   "`num` numbers, real or complex, evenly spaced from start to stop; the last is stop "
                                   "itself unless endpoint is "
                                   "False.",
                               .parameters = "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
                               .example = "linspace(0.0, 1.0, 5)",
                               .reference = "np.linspace(start, stop, num, endpoint=endpoint)",
                               .method = false};
  static Tensor call(Scalar start, Scalar stop, std::int64_t num, std::optional<DType> dtype,
                     std::optional<Device> device, bool endpoint);
};

struct Logspace {
  static constexpr OpInfo info{
      .name = "logspace",
      .doc =
          "`num` powers of `base`, whose exponents, real or complex, are evenly spaced from "
          "start to stop; the last exponent is stop itself unless endpoint is False. In a "
          "dtype of integers the powers are truncated.",
      .parameters = "start, stop, /, num, base=10.0, *, dtype=None, device=None, endpoint=True",
      .example = "logspace(0.0, 3.0, 4)",
      .reference = "np.logspace(start, stop, num, base=base, endpoint=endpoint)",
      .method = false};
  static Tensor call(Scalar start, Scalar stop, std::int64_t num, Scalar base, std::optional<DType> dtype,
                     std::optional<Device> device, bool endpoint);
};

/// The number of a diagonal, counted from the main one. Diagonals beyond a matrix are all empty, so from Python any
/// integer is valid; one that exceeds 64 bits becomes the nearest that fits.
struct DiagonalNumber {
  DiagonalNumber(std::int64_t number) : value(number) {}
  std::int64_t value;
};

struct Eye {
  static constexpr OpInfo info{
      .name = "eye",
      .doc = "A matrix with ones on diagonal k (0 is the main one, positive ones lie above it) and zeros elsewhere.",
      .parameters = "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
      .example = "eye(3)",
      .reference = "np.eye(n_rows, n_cols, k)",
      .method = false};
  static Tensor call(std::int64_t n_rows, std::optional<std::int64_t> n_cols, DiagonalNumber k,
                     std::optional<DType> dtype, std::optional<Device> device);
};

inline Tensor zeros(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                    std::optional<Device> device = std::nullopt) {
  return Zeros::call(shape, dtype, device);
}
inline Tensor ones(const Dims& shape, std::optional<DType> dtype = std::nullopt,
                   std::optional<Device> device = std::nullopt) {
  return Ones::call(shape, dtype, device);
}
inline Tensor full(const Dims& shape, Scalar value, std::optional<DType> dtype = std::nullopt,
                   std::optional<Device> device = std::nullopt) {
  return Full::call(shape, value, dtype, device);
}
inline Tensor zeros_like(const Tensor& x) { return ZerosLike::call(x, std::nullopt, std::nullopt); }
inline Tensor ones_like(const Tensor& x) { return OnesLike::call(x, std::nullopt, std::nullopt); }
inline Tensor full_like(const Tensor& x, Scalar value) { return FullLike::call(x, value, std::nullopt, std::nullopt); }
inline Tensor arange(Scalar start, std::optional<Scalar> stop = std::nullopt, Scalar step = 1,
                     std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt) {
  return Arange::call(start, stop, step, dtype, device);
}
inline Tensor linspace(Scalar start, Scalar stop, std::int64_t num, std::optional<DType> dtype = std::nullopt,
                       std::optional<Device> device = std::nullopt, bool endpoint = true) {
  return Linspace::call(start, stop, num, dtype, device, endpoint);
}
inline Tensor logspace(Scalar start, Scalar stop, std::int64_t num, Scalar base = 10.0,
                       std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt,
                       bool endpoint = true) {
  return Logspace::call(start, stop, num, base, dtype, device, endpoint);
}
inline Tensor eye(std::int64_t n_rows, std::optional<std::int64_t> n_cols = std::nullopt, std::int64_t k = 0,
                  std::optional<DType> dtype = std::nullopt, std::optional<Device> device = std::nullopt) {
  return Eye::call(n_rows, n_cols, k, dtype, device);
}

}  // namespace lamella
