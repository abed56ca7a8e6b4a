#include "ops/random/random.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/autograd/modes.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/random/examples.h"
#include "ops/random/launch.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using random::Fill;

constexpr std::int64_t kGrainBlocks = 4096;

std::array<FillLauncher, kDeviceTypeCount> launchers{};

template <class T>
void fill_cpu(T* out, std::int64_t count, const Fill& fill) {
  constexpr std::int64_t kPerBlock = random::kPerBlock<T>;
  const HostRelease release(count);
  parallel_for(0, (count + kPerBlock - 1) / kPerBlock, kGrainBlocks, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto values = random::values_of<T>(fill, static_cast<std::uint64_t>(block));
      const std::int64_t at = block * kPerBlock;
      std::copy_n(values.begin(), std::min(kPerBlock, count - at), out + at);
    }
  });
}

Generator& source(Generator* given, Device device) { return given ? *given : default_generator(device); }

/// Fills a new tensor. Every element has its own part of the stream, whatever else is drawn at the same time.
Tensor fill_new(const Dims& shape, DType dtype, Device device, Fill fill, Generator* generator, const char* op) {
  check_generator(op, generator, device);
  const Tensor out = empty(shape, dtype, device);
  if (device.is_meta() || out.numel() == 0) return out;
  const std::int64_t per_block = fill.kind == Fill::Kind::Integer ? random::kIntegersPerBlock
                                 : dtype == DType::Float64        ? random::kDoublesPerBlock
                                                                  : random::kFloatsPerBlock;
  const GeneratorState state =
      source(generator, device).reserve(static_cast<std::uint64_t>((out.numel() + per_block - 1) / per_block));
  fill.seed = state.seed;
  fill.offset = state.offset;
  if (!device.is_cpu()) {
    const FillLauncher launcher = launchers[static_cast<std::size_t>(device.type)];
    if (!launcher) fail<NotImplementedError>("[", op, "] has no kernel for device ", device);
    launcher(device, dtype, fill, out.raw_data(), out.numel());
    return out;
  }
  visit<Integral | DTypeSet{DType::Float32, DType::Float64}>(
      dtype, op, [&]<class T> { fill_cpu(out.data<T>(), out.numel(), fill); });
  return out;
}

Tensor make(const Dims& shape, DType dtype, Device device, const Fill& fill, Generator* generator, const char* op) {
  const HiddenAxes axes = drawn_axes(op);
  return hide_in_place(fill_new(with_axes(axes, shape), dtype, device, fill, generator, op), axes);
}

Tensor make_floats(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device, Fill fill,
                   Generator* generator, const char* op) {
  const DType wanted = dtype.value_or(DType::Float32);
  if (!is_floating(wanted)) fail<TypeError>("[", op, "] dtype must be floating, got ", wanted);
  if (!KernelDTypes.contains(wanted))
    return cast(make(shape, DType::Float32, device.value_or(kCPU), fill, generator, op), wanted);
  return make(shape, wanted, device.value_or(kCPU), fill, generator, op);
}

/// The integers from 0 to n - 1 in random order.
void shuffle(std::int64_t* data, std::int64_t n, Generator& generator) {
  const GeneratorState state = generator.reserve(static_cast<std::uint64_t>((n + 1) / 2));
  for (std::int64_t i = 0; i < n; ++i) data[i] = i;
  for (std::int64_t i = n - 1; i > 0; --i) {
    const Philox::Block w = Philox::at(state.seed, state.offset + static_cast<std::uint64_t>(i / 2));
    const std::size_t half = i % 2 == 0 ? 0 : 2;
    std::swap(data[i], data[random::below(w[half], w[half + 1], static_cast<std::uint64_t>(i) + 1)]);
  }
}

}  // namespace

void register_fill_launcher(DeviceType type, FillLauncher launcher) {
  launchers[static_cast<std::size_t>(type)] = launcher;
}

Tensor Rand::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  return make_floats(shape, dtype, device, {.kind = Fill::Kind::Uniform, .seed = 0, .offset = 0}, generator, "rand");
}

Tensor Randn::call(const Dims& shape, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  return make_floats(shape, dtype, device, {.kind = Fill::Kind::Normal, .seed = 0, .offset = 0}, generator, "randn");
}

Tensor Uniform::call(const Dims& shape, double low, double high, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator) {
  if (!(low <= high)) fail<ValueError>("[uniform] low must not exceed high, got ", low, " and ", high);
  return make_floats(shape, dtype, device,
                     {.kind = Fill::Kind::Uniform, .seed = 0, .offset = 0, .low = low, .high = high}, generator,
                     "uniform");
}

Tensor Normal::call(const Dims& shape, double mean, double std, std::optional<DType> dtype,
                    std::optional<Device> device, Generator* generator) {
  if (!(std >= 0)) fail<ValueError>("[normal] std cannot be negative, got ", std);
  return make_floats(shape, dtype, device,
                     {.kind = Fill::Kind::Normal, .seed = 0, .offset = 0, .low = mean, .high = std}, generator,
                     "normal");
}

Tensor RandInt::call(std::int64_t low, std::int64_t high, const Dims& shape, std::optional<DType> dtype,
                     std::optional<Device> device, Generator* generator) {
  if (low >= high) fail<ValueError>("[randint] low must be below high, got ", low, " and ", high);
  const DType wanted = dtype.value_or(DType::Int64);
  if (!is_integral(wanted)) fail<TypeError>("[randint] dtype must be an integer dtype, got ", wanted);
  visit<Integral>(wanted, "randint", [&]<class T> {
    if (!std::in_range<T>(low) || !std::in_range<T>(high - 1)) {
      fail<ValueError>("[randint] ", wanted, " does not hold all of [", low, ", ", high, ")");
    }
  });
  const Fill fill{.kind = Fill::Kind::Integer,
                  .seed = 0,
                  .offset = 0,
                  .first = low,
                  .range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)};
  return make(shape, wanted, device.value_or(kCPU), fill, generator, "randint");
}

Tensor RandPerm::call(std::int64_t n, std::optional<DType> dtype, std::optional<Device> device, Generator* generator) {
  if (n < 0) fail<ValueError>("[randperm] n cannot be negative, got ", n);
  const DType wanted = dtype.value_or(DType::Int64);
  if (!is_integral(wanted)) fail<TypeError>("[randperm] dtype must be an integer dtype, got ", wanted);
  const Device target = device.value_or(kCPU);
  check_generator("randperm", generator, target);
  const HiddenAxes axes = drawn_axes("randperm");
  Tensor order = empty(with_axes(axes, Dims{n}), DType::Int64, target.is_meta() ? kMeta : kCPU);
  if (!order.device().is_meta()) {
    auto* const data = order.data<std::int64_t>();
    for (std::int64_t at = 0; at < order.numel(); at += n) shuffle(data + at, n, source(generator, target));
  }
  order = hide_in_place(std::move(order), axes);
  return to_device(cast(order, wanted), target);
}

Tensor Bernoulli::call(const Tensor& x, Generator* generator) {
  if (!info.dtypes.contains(x.dtype())) fail<TypeError>("[bernoulli] does not take dtype ", x.dtype());
  check_generator("bernoulli", generator, x.device());
  const autograd::NoGrad no_grad;
  if (x.device().is_cpu() && x.numel() > 0) {
    Tensor valid = bitwise_and(x >= 0, x <= 1);
    if (is_batched(valid)) valid = physical(valid, *valid->hidden);
    valid = contiguous(valid);
    const bool* data = valid.data<bool>();
    if (!std::all_of(data, data + valid.numel(), [](bool ok) { return ok; })) {
      fail<ValueError>("[bernoulli] probabilities must lie in [0, 1]");
    }
  }
  return cast(rand(x.shape(), x.dtype(), x.device(), generator) < x, x.dtype());
}

}  // namespace lamella
