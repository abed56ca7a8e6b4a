#include "ops/linalg/cuda/matmul.h"

#include <algorithm>

#include "engine/runtime/cuda/cublas.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/linalg/cuda/fused_product.h"
#include "ops/linalg/cuda/layout.h"
#include "ops/support/checks.h"

namespace lamella::cuda {
namespace {

/// The leading axes of `out`, to which those of a and b broadcast, merged if the strides allow. cuBLAS iterates over
/// the last one.
struct BatchAxis {
  std::int64_t size;
  std::int64_t a;
  std::int64_t b;
  std::int64_t out;
};
using BatchAxes = SmallVector<BatchAxis, 3>;

BatchAxes batch_axes(const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto stride_of = [&](const Tensor& x, std::size_t axis) -> std::int64_t {
    const std::size_t missing = out.ndim() - x.ndim();
    return axis < missing || x.shape()[axis - missing] == 1 ? 0 : x.strides()[axis - missing];
  };
  BatchAxes axes;
  for (std::size_t i = 0; i + 2 < out.ndim(); ++i) {
    const BatchAxis axis{out.shape()[i], stride_of(a, i), stride_of(b, i), out.strides()[i]};
    if (axis.size == 1) continue;
    BatchAxis* const before = axes.empty() ? nullptr : &axes.back();
    if (before && before->a == axis.a * axis.size && before->b == axis.b * axis.size &&
        before->out == axis.out * axis.size) {
      *before = {before->size * axis.size, axis.a, axis.b, axis.out};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 0, 0, 0});
  // The longest one becomes the last one, so that there are few calls.
  std::iter_swap(
      std::max_element(axes.begin(), axes.end(), [](const auto& x, const auto& y) { return x.size < y.size; }),
      axes.end() - 1);
  return axes;
}

/// Calls f(offsets in a, b and out) for each index combination of all batch axes but the last; offsets are in elements.
template <class F>
void for_each_batch(const BatchAxes& axes, F&& f) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) count *= axes[i].size;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number;
    BatchAxis at{.size = 1, .a = 0, .b = 0, .out = 0};
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      const std::int64_t index = rest % axes[i].size;
      at.a += index * axes[i].a;
      at.b += index * axes[i].b;
      at.out += index * axes[i].out;
      rest /= axes[i].size;
    }
    f(at);
  }
}

void multiply_floating(const Tensor& a, const Layout& a_layout, const Tensor& b, const Layout& b_layout,
                       const Tensor& out, const char* op) {
  const std::int64_t m = a.size(-2);
  const std::int64_t k = a.size(-1);
  const std::int64_t n = b.size(-1);
  const DType dtype = out.dtype();
  const auto item = static_cast<std::int64_t>(item_size(a.dtype()));
  const auto out_item = static_cast<std::int64_t>(item_size(dtype));
  const cudaDataType_t factor = numbers_of(a.dtype()).data;
  const Numbers numbers = numbers_of(dtype);
  const Factors factors;
  const std::int64_t out_row = m == 1 ? n : out.strides()[out.ndim() - 2];
  const BatchAxes axes = batch_axes(a, b, out);
  const BatchAxis inner = axes.back();
  const cublasHandle_t handle = cublas_handle(out.device());
  // In column-major order our out is its transpose, b^T a^T.
  for_each_batch(axes, [&](const BatchAxis& at) {
    check(cublas().multiply(handle, b_layout.operation, a_layout.operation, n, m, k, factors.get(dtype, 0),
                            b->data + at.b * item, factor, b_layout.leading, inner.b, a->data + at.a * item, factor,
                            a_layout.leading, inner.a, factors.get(dtype, 1), out->data + at.out * out_item,
                            numbers.data, out_row, inner.out, inner.size, numbers.compute, CUBLAS_GEMM_DEFAULT),
          op);
  });
}

void multiply_integers(const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const BatchAxes axes = batch_axes(a, b, out);
  const BatchAxis inner = axes.back();
  IntegerMatmul args{.a = nullptr,
                     .b = nullptr,
                     .c = nullptr,
                     .m = a.size(-2),
                     .k = a.size(-1),
                     .n = b.size(-1),
                     .a_row = a.strides()[a.ndim() - 2],
                     .a_column = a.strides()[a.ndim() - 1],
                     .a_batch = inner.a,
                     .b_row = b.strides()[b.ndim() - 2],
                     .b_column = b.strides()[b.ndim() - 1],
                     .b_batch = inner.b,
                     .c_batch = inner.out,
                     .batches = inner.size};
  for_each_batch(axes, [&](const BatchAxis& at) {
    args.a = a->data + at.a * item;
    args.b = b->data + at.b * item;
    args.c = out->data + at.out * item;
    launch_integer_matmul(args, out.dtype(), current_stream(out.device()));
  });
}

}  // namespace

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const char* op) {
  const DeviceGuard guard(out.device());
  Layout a_layout;
  Layout b_layout;
  const Tensor left = with_layout(a, a_layout);
  const Tensor right = with_layout(b, b_layout);
  multiply_floating(left, a_layout, right, b_layout, out, op);
}

bool matmul(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op) {
  const bool is_single = a.ndim() == 2 && b.ndim() == 2 && out.ndim() == 2;
  if (bias.defined() && is_single && is_floating(out.dtype()) && bias.dtype() == out.dtype() &&
      fused_product(a, b, out, Epilogue::Bias, bias, op)) {
    return true;
  }
  if (out.dtype() == DType::Int32 || out.dtype() == DType::Int64) {
    const DeviceGuard guard(out.device());
    multiply_integers(a, b, out);
  } else if (is_floating(out.dtype()) || is_complex(out.dtype())) {
    multiply(a, b, out, op);
  } else {
    no_kernel(op, out.dtype(), out.device());
  }
  return false;
}

bool matmul_and_sum(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& sums, const char* op) {
  return fused_product(a, b, out, Epilogue::RowSums, sums, op);
}

}  // namespace lamella::cuda
