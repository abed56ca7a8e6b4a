#include "ops/random/distributions.h"

#include <array>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "ops/random/samplers.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using random::Fill;
using random::Parameter;
using random::Target;

constexpr std::int64_t kGrain = 256;  // elements per task; an element takes about 50 ns

/// Throws ValueError if a parameter is not above 0.
void check_positive(const char* op, const char* what, const Operand& x) {
  if (x.is_number()) {
    if (!(x.number().to<double>() > 0)) fail<ValueError>("[", op, "] ", what, ", got ", x.number().to<double>());
    return;
  }
  const autograd::NoGrad no_grad;
  random::check_valid(op, what, greater(x, 0));
}

Tensor unit_exponentials(const char* op, const Target& target, Generator* generator, double mean = 1) {
  return random::draw(op, {.kind = Fill::Kind::Exponential, .high = mean}, target.shape, target.computed(),
                      target.device, generator);
}

/// A parameter with the physical shape of the result, as samplers read it: element i is at i * step.
struct Column {
  Tensor values;
  std::int64_t step = 0;

  Column(const Operand& given, const Target& target, const HiddenAxes& axes, const Dims& physical_shape) {
    if (given.is_number()) {
      values = number_tensor(given.number(), DType::Float64);
      return;
    }
    Tensor x = cast(given.tensor(), DType::Float64);
    if (is_extension(x.device())) x = to_device(x, kCPU);
    if (is_batched(x) && x.device().is_cpu() && !is_extension(target.device)) x = to_device(x, target.device);
    if (x.numel() == 1 && !is_batched(x)) {
      values = contiguous(x);
      return;
    }
    x = physical(x, axes, target.shape.size());
    values = contiguous(broadcast_to(x, physical_shape));
    step = 1;
  }
  double operator[](std::int64_t i) const { return values.data<double>()[i * step]; }
};

/// Numbers drawn for all elements in bulk: a key for each, and a first normal and a first uniform number for samplers
/// that use them.
struct Draws {
  Tensor keys;
  Tensor normals;
  Tensor uniforms;
};

/// Returns for each element one number of sampler(first, stream, parameters...), from a stream of its own; `first` is a
/// random::First. Most elements need only those first numbers, which cost little.
template <class Sampler, class... Parameters>
Tensor sample(const char* op, const Target& target, Generator* generator, Sampler sampler,
              const Parameters&... parameters) {
  constexpr bool kTakesFirst = std::is_invocable_v<Sampler, random::First, random::ElementStream&,
                                                   decltype(static_cast<void>(parameters), 0.0)...>;
  const autograd::NoGrad no_grad;
  const auto drawn = [&](const Fill& fill, DType dtype) {
    return random::draw(op, fill, target.shape, dtype, target.device, generator);
  };
  Draws draws{.keys = random::draw_keys(op, target.shape, target.device, generator), .normals = {}, .uniforms = {}};
  if constexpr (kTakesFirst) {
    draws.normals = drawn({.kind = Fill::Kind::Normal}, target.computed());
    draws.uniforms = drawn(random::uniform_fill(op, 0, 1, DType::Float32), DType::Float32);
  }
  SmallVector<const Tensor*, 6> tensors;
  tensors.push_back(&draws.keys);
  ((parameters.is_number() ? void() : tensors.push_back(&parameters.tensor())), ...);
  const HiddenAxes axes = hidden_axes(tensors);
  const Dims shape = with_axes(axes, target.shape);
  // An extension's device draws the keys; the host computes the rest.
  const bool away = is_extension(target.device);
  const bool has_kernel = has_device_kernel<&DeviceKernels::sample>(target.device);
  if (!target.device.is_cpu() && !target.device.is_meta() && !has_kernel) require_fallback(op, target.device);
  Tensor out = empty(shape, target.computed(), away ? kCPU : target.device);
  if (!target.device.is_meta() && out.numel() > 0) {
    const auto own = [&](const Tensor& x) {
      if (!x.defined()) return x;
      const Tensor all = contiguous(broadcast_to(physical(x, axes, target.shape.size()), shape));
      return away ? moved(all, kCPU) : all;
    };
    draws = {own(draws.keys), own(draws.normals), own(draws.uniforms)};
    const std::array<Column, sizeof...(Parameters)> columns{Column(parameters, target, axes, shape)...};
    if (has_kernel) {
      std::array<Tensor, columns.size()> values;
      for (std::size_t k = 0; k < columns.size(); ++k) values[k] = columns[k].values;
      const auto kernel = device_kernel<&DeviceKernels::sample>(target.device, op);
      kernel(Sampler::kSampler, draws.keys, draws.normals, draws.uniforms, values, out, op);
      return hide_in_place(cast(out, target.dtype), axes);
    }
    const auto* const words = draws.keys.data<std::int64_t>();
    visit<DTypeSet{DType::Float32, DType::Float64}>(out.dtype(), op, [&]<class T> {
      T* const to = out.data<T>();
      const T* const normals = kTakesFirst ? draws.normals.data<T>() : nullptr;
      const auto* const uniforms = kTakesFirst ? draws.uniforms.data<float>() : nullptr;
      const HostRelease release(out.numel() * 16);
      parallel_for(0, out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          random::ElementStream stream(static_cast<std::uint64_t>(words[i]));
          to[i] = [&]<std::size_t... K>(std::index_sequence<K...>) {
            if constexpr (kTakesFirst) {
              return static_cast<T>(sampler(random::First{normals[i], uniforms[i]}, stream, columns[K][i]...));
            } else {
              return static_cast<T>(sampler(stream, columns[K][i]...));
            }
          }(std::index_sequence_for<Parameters...>{});
        }
      });
    });
  }
  return hide_in_place(cast(away ? moved(out, target.device) : out, target.dtype), axes);
}

DType like(const Tensor& x, std::optional<DType> dtype) { return dtype.value_or(x.dtype()); }

}  // namespace

Tensor Exponential::call(const std::optional<Dims>& shape, const Operand& rate, std::optional<DType> dtype,
                         std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&rate}, dtype, device);
  check_positive(info.name, "rate must be above 0", rate);
  if (rate.is_number()) {
    return cast(unit_exponentials(info.name, target, generator, 1 / rate.number().to<double>()), target.dtype);
  }
  return cast(unit_exponentials(info.name, target, generator) / Parameter(rate, target), target.dtype);
}

Tensor Laplace::call(const std::optional<Dims>& shape, const Operand& loc, const Operand& scale,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&loc, &scale}, dtype, device);
  check_positive(info.name, "scale must be above 0", scale);
  const Tensor size = unit_exponentials(info.name, target, generator);
  const Tensor up =
      random::draw(info.name, random::coin_fill(0.5), target.shape, DType::Bool, target.device, generator);
  return cast(where(up, size, -size) * Parameter(scale, target) + Parameter(loc, target), target.dtype);
}

Tensor Cauchy::call(const std::optional<Dims>& shape, const Operand& loc, const Operand& scale,
                    std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&loc, &scale}, dtype, device);
  check_positive(info.name, "scale must be above 0", scale);
  // tan(pi (u - 1/2)) with u at least half a step: the tangent has no value at 0.
  const double step = target.computed() == DType::Float64 ? 0x1p-54 : 0x1p-25;
  const Tensor angle = (rand(target.shape, target.computed(), target.device, generator) + step) * std::numbers::pi;
  return cast(Parameter(loc, target) - cos(angle) / sin(angle) * Parameter(scale, target), target.dtype);
}

Tensor LogNormal::call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std,
                       std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&mean, &std}, dtype, device);
  return cast(exp(normal(target.shape, mean, std, target.computed(), target.device, generator)), target.dtype);
}

Tensor Geometric::call(const std::optional<Dims>& shape, const Operand& p, std::optional<DType> dtype,
                       std::optional<Device> device, Generator* generator) {
  const bool whole = dtype && is_integral(*dtype);
  const Target target = random::target_of(info.name, shape, {&p}, whole ? DType::Float64 : dtype, device);
  const autograd::NoGrad no_grad;
  constexpr const char* kDomain = "p must lie in (0, 1]";
  Tensor rate;
  if (p.is_number()) {
    const double value = p.number().to<double>();
    if (!(value > 0 && value <= 1)) fail<ValueError>("[geometric] ", kDomain, ", got ", value);
    rate = number_tensor(-std::log1p(-value), target.computed());
  } else {
    const Tensor values = cast(p.tensor(), target.computed());
    random::check_valid(info.name, kDomain, bitwise_and(values > 0, values <= 1));
    rate = -log1p(-values);
  }
  return cast(floor(unit_exponentials(info.name, target, generator) / rate) + 1, whole ? *dtype : target.dtype);
}

Tensor TruncatedNormal::call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std,
                             const Operand& low, const Operand& high, std::optional<DType> dtype,
                             std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&mean, &std, &low, &high}, dtype, device);
  check_positive(info.name, "std must be above 0", std);
  const auto as_double = [&](const Operand& x) {
    return x.is_number() ? number_tensor(x.number(), DType::Float64) : cast(x.tensor(), DType::Float64);
  };
  {
    const autograd::NoGrad no_grad;
    random::check_valid(info.name, "low must be below high", less(as_double(low), as_double(high)));
  }
  return sample(info.name, target, generator, random::TruncatedNormalSampler(), mean, std, low, high);
}

Tensor Gamma::call(const std::optional<Dims>& shape, const Operand& concentration, const Operand& rate,
                   std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  const Target target = random::target_of(info.name, shape, {&concentration, &rate}, dtype, device);
  check_positive(info.name, "concentration must be above 0", concentration);
  check_positive(info.name, "rate must be above 0", rate);
  return sample(info.name, target, generator, random::GammaSampler(), concentration, rate);
}

Tensor Poisson::call(const Tensor& x, Generator* generator) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const Target target = random::target_of(info.name, std::nullopt, {}, x.dtype(), x.device());
  {
    const autograd::NoGrad no_grad;
    const Tensor rate = cast(x, target.computed());
    random::check_valid(info.name, "rates must be finite and not below 0", bitwise_and(rate >= 0, isfinite(rate)));
  }
  return sample(info.name, {.shape = x.shape(), .dtype = x.dtype(), .device = x.device()}, generator,
                random::PoissonSampler(), Operand(x));
}

Tensor Permutation::call(const Tensor& x, std::int64_t axis, Generator* generator) {
  check_defined(x, info.name);
  if (x.ndim() == 0) fail<ValueError>("[permutation] a 0-d tensor has no axis to permute");
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  return take(x, randperm(x.shape()[static_cast<std::size_t>(at)], std::nullopt, x.device(), generator), at);
}

Tensor RandLike::call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  check_defined(x, info.name);
  return rand(x.shape(), like(x, dtype), device.value_or(x.device()), generator);
}

Tensor RandnLike::call(const Tensor& x, std::optional<DType> dtype, std::optional<Device> device,
                       Generator* generator) {
  check_defined(x, info.name);
  return randn(x.shape(), like(x, dtype), device.value_or(x.device()), generator);
}

}  // namespace lamella
