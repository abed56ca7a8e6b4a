#include "ops/index/rows.h"

#include <array>
#include <cstring>

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time

std::array<RowKernels, kDeviceTypeCount> device_kernels{};

const RowKernels& kernels_of(Device device, const char* op) {
  const RowKernels& kernels = device_kernels[static_cast<std::size_t>(device.type)];
  if (!kernels.gather) fail<NotImplementedError>("[", op, "] has no kernel for device ", device);
  return kernels;
}

template <std::size_t kBytes>
void gather_small(const char* x, const std::int64_t* rows, std::int64_t begin, std::int64_t end, char* out) {
  for (std::int64_t i = begin; i < end; ++i)
    std::memcpy(out + i * static_cast<std::int64_t>(kBytes), x + rows[i] * static_cast<std::int64_t>(kBytes), kBytes);
}

void gather_cpu(const Tensor& x, const Tensor& rows, const Tensor& out) {
  const std::int64_t count = rows.numel();
  const std::int64_t width = x.shape()[1];
  const auto row_bytes = static_cast<std::int64_t>(item_size(x.dtype())) * width;
  const auto* from = static_cast<const char*>(x.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  const auto* row = rows.data<std::int64_t>();
  const HostRelease release(count * width);
  parallel_for(0, count, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width)),
               [&](std::int64_t begin, std::int64_t end) {
                 // A row of one element is the common case of picking elements: copies of known size need no call.
                 switch (row_bytes) {
                   case 4:
                     return gather_small<4>(from, row, begin, end, to);
                   case 8:
                     return gather_small<8>(from, row, begin, end, to);
                   default:
                     for (std::int64_t i = begin; i < end; ++i) {
                       std::memcpy(to + i * row_bytes, from + row[i] * row_bytes, static_cast<std::size_t>(row_bytes));
                     }
                 }
               });
}

void scatter_cpu(const Tensor& x, const Tensor& rows, const Tensor& out) {
  const std::int64_t count = rows.numel();
  const std::int64_t width = x.shape()[1];
  const auto* row = rows.data<std::int64_t>();
  const HostRelease release(count * width);
  visit<KernelDTypes - Boolean>(x.dtype(), "index", [&]<class T> {
    const T* from = x.data<T>();
    T* to = out.data<T>();
    // Threads share columns, not rows: each element is summed by one thread, in the order of the picks.
    parallel_for(0, width, std::max<std::int64_t>(64, kGrain / std::max<std::int64_t>(1, count)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     const T* source = from + i * width;
                     T* target = to + row[i] * width;
                     for (std::int64_t k = begin; k < end; ++k) target[k] += source[k];
                   }
                 });
  });
}

struct GatherFn : Function<GatherFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "gather_rows";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& rows) {
    if (ctx.recording()) {
      ctx.save_for_backward(rows);
      ctx.state<std::int64_t>() = x.shape()[0];
    }
    const Tensor out = empty({rows.numel(), x.shape()[1]}, x.dtype(), x.device());
    if (out.device().is_meta() || out.numel() == 0) return out;
    const Tensor matrix = contiguous(x);
    if (out.device().is_cpu()) {
      gather_cpu(matrix, rows, out);
    } else {
      kernels_of(out.device(), "index")
          .gather(out.device(), x.dtype(), matrix.raw_data(), rows.data<std::int64_t>(), rows.numel(), x.shape()[1],
                  out.raw_data());
    }
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    return {scatter_rows(dy, ctx.saved_tensors<1>()[0], ctx.state<std::int64_t>()), Tensor()};
  }
};

struct ScatterFn : Function<ScatterFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "scatter_rows";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& rows, std::int64_t count) {
    if (ctx.recording()) ctx.save_for_backward(rows);
    const Tensor out = zeros(Dims{count, x.shape()[1]}, x.dtype(), x.device());
    if (out.device().is_meta() || x.numel() == 0) return out;
    const Tensor matrix = contiguous(x);
    if (out.device().is_cpu()) {
      scatter_cpu(matrix, rows, out);
    } else {
      kernels_of(out.device(), "index")
          .scatter(out.device(), x.dtype(), matrix.raw_data(), rows.data<std::int64_t>(), rows.numel(), x.shape()[1],
                   out.raw_data(), count);
    }
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    return {gather_rows(dy, ctx.saved_tensors<1>()[0]), Tensor()};
  }
};

}  // namespace

void register_row_kernels(DeviceType type, RowKernels kernels) {
  device_kernels[static_cast<std::size_t>(type)] = kernels;
}

Tensor gather_rows(const Tensor& x, const Tensor& rows) { return GatherFn::apply(x, rows); }
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count) {
  return ScatterFn::apply(x, rows, count);
}

}  // namespace lamella
