#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct Cast {
  static constexpr OpInfo info{
      .name = "cast",
      .doc =
          "The values of x in another dtype; x itself if it has that dtype already. Floating values become integers by "
          "truncation; values out of range become the nearest one in range, and NaN becomes 0. Every nonzero value "
          "becomes True. The gradient is cast back.",
      .parameters = "x, dtype",
      .example = "cast(ones([2]), 'int32')",
      .reference = "x.astype(dtype)"};
  static Tensor call(const Tensor& x, DType dtype);
};

struct AsType {
  static constexpr OpInfo info{
      .name = "astype",
      .doc =
          "A copy of x in another dtype, on another device where one is given. With copy=False, x itself where it "
          "has that dtype, and lies on that device, already.",
      .parameters = "x, dtype, /, *, copy=True, device=None",
      .example = "astype(ones([2]), 'int64')",
      .reference = "x.astype(dtype)"};
  static Tensor call(const Tensor& x, DType dtype, bool copy, std::optional<Device> device);
};

struct Clone {
  static constexpr OpInfo info{.name = "clone",
                               .doc = "A contiguous copy of x. The gradient goes to x as it is.",
                               .example = "clone(ones([2]))",
                               .reference = "np.array(x)"};
  static Tensor call(const Tensor& x);
};

struct Contiguous {
  static constexpr OpInfo info{
      .name = "contiguous",
      .doc = "x itself where its elements lie in row-major order, a copy in that order otherwise.",
      .example = "contiguous(ones([2, 3]).T)",
      .reference = "np.ascontiguousarray(x)"};
  static Tensor call(const Tensor& x);
};

struct ToDevice {
  static constexpr OpInfo info{
      .name = "to_device",
      .doc =
          "x on another device; x itself where it lies there already. The gradient comes back to x's device. Work is "
          "ordered by the current stream of each device: NotImplementedError for another `stream`.",
      .parameters = "x, device, /, *, stream=None",
      .example = "to_device(ones([2]), 'cpu')",
      .reference = "x"};
  static Tensor call(const Tensor& x, std::optional<Device> device, std::optional<std::int64_t> stream);
};

inline Tensor cast(const Tensor& x, DType dtype) { return Cast::call(x, dtype); }
inline Tensor astype(const Tensor& x, DType dtype, bool copy = true, std::optional<Device> device = std::nullopt) {
  return AsType::call(x, dtype, copy, device);
}
inline Tensor clone(const Tensor& x) { return Clone::call(x); }
inline Tensor contiguous(const Tensor& x) { return Contiguous::call(x); }
inline Tensor to_device(const Tensor& x, Device device) { return ToDevice::call(x, device, std::nullopt); }

/// Returns x if it is floating, or x cast to the default floating dtype if it is an integer or bool; throws TypeError
/// if it is complex.
Tensor as_floating(const Tensor& x, std::string_view op);
/// Returns x if it is floating or complex, or x cast to the default floating dtype if it is an integer or bool.
Tensor as_inexact(const Tensor& x, std::string_view op);
/// True if both are integers or bools, and one is_wide_integer(). False if one is undefined.
bool are_wide_integers(const Tensor& a, const Tensor& b);
/// Returns an operand as a tensor of `dtype`; a number becomes a 0-d tensor on the CPU.
Tensor in_dtype(const Operand& operand, DType dtype);

}  // namespace lamella
