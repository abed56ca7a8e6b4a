#include "ops/shape/complex_view.h"

#include <algorithm>
#include <cstdint>

#include "engine/core/error.h"
#include "ops/movement/cast.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(item_size(dtype)); }

Dims doubled(Dims strides) {
  for (std::int64_t& stride : strides) stride *= 2;
  return strides;
}

/// Returns a view of x's memory in another dtype, off the tape. Hidden axes stay hidden.
Tensor reinterpret(const Tensor& x, DType dtype, const Dims& shape, const Dims& strides) {
  Tensor y = make_view(x, shape, strides);
  y->dtype = dtype;
  if (y->hidden) {
    for (HiddenAxis& axis : *y->hidden) axis.stride = axis.stride * bytes_of(x.dtype()) / bytes_of(dtype);
  }
  return y;
}

template <int kPart>
struct PartLayer : LinearOperatorLayer<PartLayer<kPart>> {
  static constexpr std::string_view name = kPart == 0 ? "real" : "imag";

  static Tensor forward(Context& ctx, const Tensor& x) {
    static_cast<void>(ctx);
    return part_view(x, kPart);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    static_cast<void>(ctx);
    return kPart == 0 ? cast(dy, complex_dtype(dy.dtype())) : from_imaginary(dy);
  }
};

struct FromImaginaryLayer : LinearOperatorLayer<FromImaginaryLayer> {
  static constexpr std::string_view name = "from_imaginary";

  static Tensor forward(Context& ctx, const Tensor& x) {
    static_cast<void>(ctx);
    return place(x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    static_cast<void>(ctx);
    return part_of(dy, 1);
  }

 private:
  static Tensor place(const Tensor& x) {
    if (is_batched(x)) [[unlikely]]
      return over_examples(place, x);
    const Tensor y = empty(x.shape(), complex_dtype(x.dtype()), x.device());
    write_value(y, 0, "imag");
    write_values(part_view(y, 1), x, "imag");
    return y;
  }
};

struct PairsLayer : OperatorLayer<PairsLayer> {
  static constexpr std::string_view name = "view_as_complex";

  static Tensor forward(Context& ctx, const Tensor& x) {
    static_cast<void>(ctx);
    const std::size_t ndim = x.ndim() - 1;
    Dims shape(x.shape().begin(), x.shape().begin() + ndim);
    Dims strides(x.strides().begin(), x.strides().begin() + ndim);
    for (std::int64_t& stride : strides) stride /= 2;
    return reinterpret(x, complex_dtype(x.dtype()), shape, strides);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    static_cast<void>(ctx);
    return parts_of(dy);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    static_cast<void>(ctx);
    return joined_pairs(dx);  // a tangent may have strides that its tensor has not
  }
};

struct PartsLayer : LinearOperatorLayer<PartsLayer> {
  static constexpr std::string_view name = "view_as_real";

  static Tensor forward(Context& ctx, const Tensor& x) {
    static_cast<void>(ctx);
    Dims shape = x.shape();
    Dims strides = doubled(x.strides());
    shape.push_back(2);
    strides.push_back(1);
    return reinterpret(x, real_dtype(x.dtype()), shape, strides);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    static_cast<void>(ctx);
    return joined_pairs(dy);
  }
};

/// Returns the required alignment of a complex number's address: GPU kernels load both parts at once. Nothing is known
/// about addresses of an extension's device.
std::uintptr_t alignment_of_pairs(const Tensor& x) {
  const auto pair = static_cast<std::uintptr_t>(2 * bytes_of(x.dtype()));
  if (x.device().is_cpu()) return std::min<std::uintptr_t>(pair, alignof(double));
  return x.device().is_cuda() ? pair : 1;
}

/// True if the first number of x is at an offset in the storage where a complex number may begin.
bool begins_a_pair(const Tensor& x) {
  if (!x->data) return true;
  const std::int64_t offset = x->data - static_cast<const char*>(x->storage->data);
  return offset % (2 * bytes_of(x.dtype())) == 0 &&
         reinterpret_cast<std::uintptr_t>(x->data) % alignment_of_pairs(x) == 0;
}

}  // namespace

Tensor part_view(const Tensor& x, std::int64_t part) {
  const DType dtype = real_dtype(x.dtype());
  Tensor y = reinterpret(x, dtype, x.shape(), doubled(x.strides()));
  if (y->data) y->data += part * bytes_of(dtype);
  return y;
}

Tensor part_of(const Tensor& x, std::int64_t part) {
  return part == 0 ? PartLayer<0>::apply(x) : PartLayer<1>::apply(x);
}

Tensor parts_of(const Tensor& x) { return PartsLayer::apply(x); }

Tensor pairs_of(const Tensor& x) { return PairsLayer::apply(x); }

Tensor joined_pairs(const Tensor& x) { return pairs_of(why_not_complex(x).empty() ? x : clone(x)); }

Tensor from_imaginary(const Tensor& x) { return FromImaginaryLayer::apply(x); }

std::string why_not_complex(const Tensor& x) {
  if (x.numel() == 0) return {};
  const std::size_t last = x.ndim() - 1;
  if (x.strides()[last] != 1) return str("the last axis must have stride 1, got strides ", x.strides());
  const auto odd = [](std::int64_t stride) { return stride % 2 != 0; };
  for (std::size_t i = 0; i < last; ++i) {
    if (x.shape()[i] > 1 && odd(x.strides()[i]))
      return str("the strides of all axes but the last must be even, got strides ", x.strides());
  }
  if (x->hidden) {
    for (const HiddenAxis& axis : *x->hidden) {
      if (axis.size > 1 && odd(axis.stride))
        return str(
            "the strides of all axes but the last must be even, and the axis that vmap maps over has the stride ",
            axis.stride);
    }
  }
  if (!begins_a_pair(x)) return "the first number must lie an even number of them from the beginning of the memory";
  return {};
}

}  // namespace lamella
