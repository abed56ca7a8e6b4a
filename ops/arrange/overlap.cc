#include "ops/arrange/overlap.h"

#include <algorithm>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/arrange/assemble.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr const char* kName = "overlap_add";

template <class T>
void add_to(T* to, const T* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
    } else {
      to[i] += from[i];
    }
  }
}

Tensor added(const Tensor& given, std::int64_t step, std::int64_t length) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return added(shown, step, length); }, given);
  const std::int64_t windows = given.size(-2);
  const std::int64_t size = given.size(-1);
  Dims shape(given.shape().begin(), given.shape().end() - 2);
  shape.push_back(length);
  Tensor y = zeros(shape, given.dtype(), given.device());
  if (y.device().is_meta() || given.numel() == 0 || y.numel() == 0) return y;
  if (!y.device().is_cpu()) {
    return on_host(kName, y.device(), [&](const Tensor& host) { return added(host, step, length); }, given);
  }
  const Tensor x = contiguous(given);
  const HostRelease release(x.numel());
  // A task is a range of a row, with all windows that reach into it.
  const std::int64_t parts = (length + kElementGrain - 1) / kElementGrain;
  visit<Differentiable>(y.dtype(), kName, [&]<class T> {
    parallel_for(0, y.numel() / length * parts, std::max<std::int64_t>(1, kElementGrain / length),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const T* const from = x.data<T>() + i / parts * windows * size;
                     T* const to = y.data<T>() + i / parts * length;
                     const std::int64_t first = i % parts * kElementGrain;
                     const std::int64_t last = std::min(length, first + kElementGrain);
                     const std::int64_t reaching = std::max<std::int64_t>(0, (first - size) / step + 1);
                     for (std::int64_t w = first < size ? 0 : reaching; w < windows && w * step < last; ++w) {
                       const std::int64_t low = std::max(first, w * step);
                       const std::int64_t high = std::min(last, w * step + size);
                       if (low < high) add_to(to + low, from + w * size + low - w * step, high - low);
                     }
                   }
                 });
  });
  return y;
}

struct Overlap {
  std::int64_t size = 0;
  std::int64_t step = 0;
};

struct OverlapLayer : LinearOperatorLayer<OverlapLayer> {
  static constexpr std::string_view name = kName;

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t step, std::int64_t length) {
    if (ctx.recording()) ctx.state<Overlap>() = {x.size(-1), step};
    return added(x, step, length);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [size, step] = ctx.state<Overlap>();
    return SlidingWindow::call(dy, -1, size, step);
  }
};

}  // namespace

Tensor overlap_add(const Tensor& x, std::int64_t step, std::int64_t length) {
  return OverlapLayer::apply(x, step, length);
}

}  // namespace lamella
