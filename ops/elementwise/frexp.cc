#include "ops/elementwise/frexp.h"

#include <cmath>

#include "engine/autograd/modes.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

std::vector<Tensor> parts_of(const Tensor& given) {
  if (is_batched(given)) [[unlikely]] {
    const HiddenAxes axes = *given->hidden;
    std::vector<Tensor> parts = parts_of(physical(given, axes));
    for (Tensor& part : parts) part = hide_in_place(std::move(part), axes);
    return parts;
  }
  if (!given.device().is_cpu() && !given.device().is_meta()) return on_host("frexp", given.device(), parts_of, given);
  const Tensor mantissa = empty(given.shape(), given.dtype(), given.device());
  const Tensor exponent = empty(given.shape(), DType::Int32, given.device());
  if (given.device().is_meta() || given.numel() == 0) return {mantissa, exponent};
  const Tensor x = contiguous(given);
  const HostRelease release(x.numel());
  visit<Floating>(x.dtype(), "frexp", [&]<class T> {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* const from = x.data<T>();
    T* const to = mantissa.data<T>();
    auto* const power = exponent.data<std::int32_t>();
    parallel_for(0, x.numel(), 8192, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto value = static_cast<Wide>(from[i]);
        int found = 0;
        to[i] = static_cast<T>(std::frexp(value, &found));
        power[i] = std::isfinite(value) ? found : 0;
      }
    });
  });
  return {mantissa, exponent};
}

}  // namespace

std::vector<Tensor> Frexp::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  std::vector<Tensor> parts = [&] {
    const autograd::NoGrad no_grad;
    return parts_of(x);
  }();
  if (!is_followed(x)) return parts;
  // In two factors, each of which is a number of the dtype.
  const Tensor half = floor_divide(parts[1], 2);
  const auto scale = [&](const Tensor& power) { return exp2(cast(negative(power), x.dtype())); };
  parts[0] = multiply(multiply(x, scale(half)), scale(subtract(parts[1], half)));
  return parts;
}

}  // namespace lamella
