#include "ops/random/random.h"

#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/core/default_device.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/movement/cast.h"
#include "ops/random/draw.h"
#include "ops/random/examples.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using random::Fill;
using random::Parameter;
using random::Target;

DType floating_or_default(std::optional<DType> dtype, const char* op) {
  const DType wanted = dtype.value_or(DType::Float32);
  if (!is_floating(wanted)) fail<TypeError>("[", op, "] dtype must be floating, got ", wanted);
  return wanted;
}

/// Shuffles the integers from 0 to n - 1: each one, from the last on, is exchanged with a random one up to it. With a
/// Number of 32 bits, half as much memory is accessed at random.
template <class Number>
void shuffle(Number* data, std::int64_t n, GeneratorState state) {
  constexpr std::int64_t kChunk = 512;
  std::iota(data, data + n, Number{0});
  std::uint64_t words[kChunk];
  for (std::int64_t end = n; end > 1;) {
    const std::int64_t begin = (end - 1) / kChunk * kChunk;
    // Integers below 2^64 - 1, plus one: the stream's words unchanged.
    const Fill fill{.kind = Fill::Kind::Integer,
                    .seed = state.seed,
                    .offset = state.offset + static_cast<std::uint64_t>(begin / random::kIntegersPerBlock),
                    .first = 1,
                    .range = std::numeric_limits<std::uint64_t>::max()};
    cpu_kernels().random.integer64(fill, end - begin, words);
    for (std::int64_t i = end - 1; i >= std::max<std::int64_t>(begin, 1); --i) {
      const std::uint64_t word = words[i - begin];
      const auto at = random::below(static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word),
                                    static_cast<std::uint64_t>(i) + 1);
      std::swap(data[i], data[at]);
    }
    end = begin;
  }
}

void shuffle(std::int64_t* data, std::int64_t n, Generator& generator) {
  const GeneratorState state = generator.reserve(static_cast<std::uint64_t>((n + 1) / 2));
  const HostRelease release(n);
  if (n > std::numeric_limits<std::int32_t>::max()) return shuffle(data, n, state);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(n));
  shuffle(numbers.data(), n, state);
  std::ranges::copy(numbers, data);
}

/// Returns integers in [low, high), for `op`.
Tensor draw_integers(const char* op, std::int64_t low, std::int64_t high, const Dims& shape, DType dtype, Device device,
                     Generator* generator) {
  if (low >= high) fail<ValueError>("[", op, "] low must be below high, got ", low, " and ", high);
  if (!is_integral(dtype)) fail<TypeError>("[", op, "] dtype must be an integer dtype, got ", dtype);
  visit<Integral>(dtype, op, [&]<class T> {
    if (!std::in_range<T>(low) || !std::in_range<T>(high - 1)) {
      fail<ValueError>("[", op, "] ", dtype, " does not hold all of [", low, ", ", high, ")");
    }
  });
  const Fill fill{.kind = Fill::Kind::Integer,
                  .first = low,
                  .range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)};
  return random::draw(op, fill, shape, dtype, device, generator);
}

}  // namespace

Tensor Rand::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  if (dtype && is_complex(*dtype))
    return ViewAsComplex::call(call(random::with_pairs(shape), real_dtype(*dtype), device, generator));
  const DType wanted = floating_or_default(dtype, "rand");
  return random::draw("rand", random::uniform_fill("rand", 0, 1, wanted), shape, wanted,
                      device.value_or(default_device()), generator);
}

Tensor Randn::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  if (dtype && is_complex(*dtype)) {
    const Tensor parts = call(random::with_pairs(shape), real_dtype(*dtype), device, generator);
    return ViewAsComplex::call(multiply(parts, std::numbers::sqrt2 / 2));
  }
  return random::draw("randn", {.kind = Fill::Kind::Normal}, shape, floating_or_default(dtype, "randn"),
                      device.value_or(default_device()), generator);
}

Tensor Uniform::call(const std::optional<Dims>& shape, const Operand& low, const Operand& high,
                     std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  constexpr const char* kOp = "uniform";
  const Target target = random::target_of(kOp, shape, {&low, &high}, dtype, device);
  if (low.is_number() && high.is_number()) {
    const Fill fill = random::uniform_fill(kOp, low.number().to<double>(), high.number().to<double>(), target.dtype);
    return random::draw(kOp, fill, target.shape, target.dtype, target.device, generator);
  }
  const Parameter from(low, target);
  const Parameter to(high, target);
  {
    const autograd::NoGrad no_grad;
    random::check_valid(kOp, "low must not exceed high", less_equal(from, to));
  }
  const Tensor unit = rand(target.shape, target.computed(), target.device, generator);
  return cast(from + unit * (to - from), target.dtype);
}

Tensor Normal::call(const std::optional<Dims>& shape, const Operand& mean, const Operand& std,
                    std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  constexpr const char* kOp = "normal";
  const Target target = random::target_of(kOp, shape, {&mean, &std}, dtype, device);
  if (std.is_number() && !(std.number().to<double>() >= 0))
    fail<ValueError>("[normal] std cannot be negative, got ", std.number().to<double>());
  if (mean.is_number() && std.is_number()) {
    const Fill fill{.kind = Fill::Kind::Normal, .low = mean.number().to<double>(), .high = std.number().to<double>()};
    return random::draw(kOp, fill, target.shape, target.dtype, target.device, generator);
  }
  const Parameter shift(mean, target);
  const Parameter scale(std, target);
  if (!std.is_number()) {
    const autograd::NoGrad no_grad;
    random::check_valid(kOp, "std cannot be negative", greater_equal(scale, 0));
  }
  return cast(randn(target.shape, target.computed(), target.device, generator) * scale + shift, target.dtype);
}

Tensor RandInt::call(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator) {
  return draw_integers(info.name, low, high, shape, dtype.value_or(DType::Int64), device.value_or(default_device()),
                       generator);
}

Tensor RandIntLike::call(const Tensor& x, std::int64_t low, std::int64_t high, std::optional<DType> dtype,
                         std::optional<Device> device, Generator* generator) {
  check_defined(x, info.name);
  return draw_integers(info.name, low, high, x.shape(), dtype.value_or(x.dtype()), device.value_or(x.device()),
                       generator);
}

Tensor RandPerm::call(std::int64_t n, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  if (n < 0) fail<ValueError>("[randperm] n cannot be negative, got ", n);
  const DType wanted = dtype.value_or(DType::Int64);
  if (!is_integral(wanted)) fail<TypeError>("[randperm] dtype must be an integer dtype, got ", wanted);
  const Device target = device.value_or(default_device());
  check_generator("randperm", generator, target);
  const HiddenAxes axes = drawn_axes("randperm");
  Tensor order = empty(with_axes(axes, Dims{n}), DType::Int64, target.is_meta() ? kMeta : kCPU);
  if (!order.device().is_meta()) {
    auto* const data = order.data<std::int64_t>();
    Generator& source = generator ? *generator : default_generator(target);
    for (std::int64_t at = 0; at < order.numel(); at += n) shuffle(data + at, n, source);
  }
  order = hide_in_place(std::move(order), axes);
  return to_device(cast(order, wanted), target);
}

Tensor Bernoulli::call(const Tensor& x, Generator* generator) {
  if (!info.dtypes.contains(x.dtype())) refuse_dtype(x.dtype(), info.dtypes, info.name);
  check_generator("bernoulli", generator, x.device());
  const autograd::NoGrad no_grad;
  const DType computed = x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  const Tensor p = cast(x, computed);
  random::check_valid("bernoulli", "probabilities must lie in [0, 1]", bitwise_and(p >= 0, p <= 1));
  return cast(rand(x.shape(), computed, x.device(), generator) < p, x.dtype());
}

}  // namespace lamella
