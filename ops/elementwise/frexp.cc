#include "ops/elementwise/frexp.h"

#include <type_traits>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/split_float.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns mantissas and exponents. If `scales`, also two factors whose product turns the numbers into their mantissas;
/// a single factor could be out of range.
std::vector<Tensor> parts_of(const Tensor& given, bool scales) {
  if (is_batched(given)) [[unlikely]] {
    const HiddenAxes axes = *given->hidden;
    std::vector<Tensor> parts = parts_of(physical(given, axes), scales);
    for (Tensor& part : parts) part = hide_in_place(std::move(part), axes);
    return parts;
  }
  const bool has_kernel = has_device_kernel<&DeviceKernels::frexp>(given.device());
  if (!given.device().is_cpu() && !given.device().is_meta() && !has_kernel) {
    return on_host("frexp", given.device(), [scales](const Tensor& x) { return parts_of(x, scales); }, given);
  }
  std::vector<Tensor> parts{empty(given.shape(), given.dtype(), given.device()),
                            empty(given.shape(), DType::Int32, given.device())};
  for (int i = 0; scales && i < 2; ++i) parts.push_back(empty(given.shape(), given.dtype(), given.device()));
  if (given.device().is_meta() || given.numel() == 0) return parts;
  const Tensor x = contiguous(given);
  if (has_kernel) {
    device_kernel<&DeviceKernels::frexp>(x.device(), "frexp")(x, parts);
    return parts;
  }
  const HostRelease release(x.numel());
  visit<Floating>(x.dtype(), "frexp", [&]<class T> {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* const from = x.data<T>();
    T* const to = parts[0].data<T>();
    auto* const power = parts[1].data<std::int32_t>();
    T* const first = scales ? parts[2].data<T>() : nullptr;
    T* const second = scales ? parts[3].data<T>() : nullptr;
    parallel_for(0, x.numel(), 8192, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        int found = 0;
        to[i] = static_cast<T>(split_float(static_cast<Wide>(from[i]), found));
        power[i] = found;
      }
      for (std::int64_t i = begin; scales && i < end; ++i) {
        const int half = power[i] / 2;
        first[i] = static_cast<T>(power_of_two<Wide>(-half));
        second[i] = static_cast<T>(power_of_two<Wide>(half - power[i]));
      }
    });
  });
  return parts;
}

}  // namespace

std::vector<Tensor> Frexp::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const bool scales = is_followed(x);
  std::vector<Tensor> parts = [&] {
    const autograd::NoGrad no_grad;
    return parts_of(x, scales);
  }();
  if (scales) parts = {multiply(multiply(x, parts[2]), parts[3]), parts[1]};
  return parts;
}

}  // namespace lamella
