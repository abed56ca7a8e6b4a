#include "ops/random/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/default_device.h"
#include "engine/core/half.h"
#include "engine/core/host.h"
#include "engine/core/thread_state.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/random/examples.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace random {
namespace {

/// Number of counters per task.
constexpr std::int64_t kGrainBlocks = 4096;
constexpr DTypeSet kFilled = Integral | Boolean | DTypeSet{DType::Float32, DType::Float64};

template <class T>
void fill_cpu(T* out, std::int64_t count, const Fill& fill) {
  const cpu::RandomKernels& kernels = cpu_kernels().random;
  const HostRelease release(count);
  parallel_for(0, (count + kPerBlock<T> - 1) / kPerBlock<T>, kGrainBlocks, [&](std::int64_t begin, std::int64_t end) {
    Fill part = fill;
    part.offset += static_cast<std::uint64_t>(begin);
    const std::int64_t first = begin * kPerBlock<T>;
    const std::int64_t here = std::min(count, end * kPerBlock<T>) - first;
    if constexpr (std::is_same_v<T, float>) {
      kernels.float32(part, here, out + first);
    } else if constexpr (std::is_same_v<T, double>) {
      kernels.float64(part, here, out + first);
    } else if constexpr (std::is_same_v<T, bool>) {
      kernels.coins(part, here, out + first);
    } else if constexpr (sizeof(T) == 1) {
      kernels.integer8(part, here, reinterpret_cast<std::uint8_t*>(out + first));
    } else if constexpr (sizeof(T) == 2) {
      kernels.integer16(part, here, reinterpret_cast<std::uint16_t*>(out + first));
    } else if constexpr (sizeof(T) == 4) {
      kernels.integer32(part, here, reinterpret_cast<std::uint32_t*>(out + first));
    } else {
      kernels.integer64(part, here, reinterpret_cast<std::uint64_t*>(out + first));
    }
  });
}

void fill_on_cpu(const Fill& fill, const Tensor& out) {
  visit<kFilled>(out.dtype(), "random", [&]<class T> { fill_cpu(out.data<T>(), out.numel(), fill); });
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::random>(DeviceType::CPU, fill_on_cpu);

/// Throws RuntimeError for numbers that the runs of a graph could not draw anew.
void check_captured(const char* op, Device device, const Generator* generator) {
  if (device.is_cpu()) refuse_capture(op, "each run would have the same numbers of the CPU");
  if (generator && generator != &default_generator(device))
    refuse_capture(op, "each run would draw the same numbers of its generator");
}

/// Reserves a separate part of the generator's stream, so that concurrent draws do not affect each other.
void fill_tensor(const char* op, Fill fill, const Tensor& out, Generator* generator) {
  const Device device = out.device();
  if (device.is_meta() || out.numel() == 0) return;
  visit<kFilled>(out.dtype(), op, [&]<class T> {
    const auto blocks = static_cast<std::uint64_t>((out.numel() + kPerBlock<T> - 1) / kPerBlock<T>);
    if (is_capturing()) [[unlikely]]
      check_captured(op, device, generator);
    const GeneratorState state = (generator ? *generator : default_generator(device)).reserve(blocks);
    fill.seed = state.seed;
    fill.offset = state.offset;
    device_kernel<&DeviceKernels::random>(device, op)(fill, out);
  });
}

/// Returns the largest number of a 16-bit floating type below `high`, or `low` if there is none.
template <class T>
double largest_below(double low, double high) {
  const T upper(static_cast<float>(high));
  const T lower(static_cast<float>(low));
  if (!(static_cast<float>(lower) < static_cast<float>(upper))) return static_cast<float>(lower);
  T below;
  // Numbers of one sign are ordered like their bits.
  if ((upper.bits & 0x7fffu) == 0) {
    below.bits = 0x8001u;
  } else {
    below.bits = static_cast<std::uint16_t>((upper.bits & 0x8000u) ? upper.bits + 1 : upper.bits - 1);
  }
  return static_cast<float>(below);
}

template <class T>
double largest_below_in(double low, double high) {
  const T upper = static_cast<T>(high);
  const T lower = static_cast<T>(low);
  return lower < upper ? std::nextafter(upper, lower) : lower;
}

}  // namespace

Target target_of(const char* op, const std::optional<Dims>& shape, std::initializer_list<const Operand*> parameters,
                 std::optional<DType> dtype, std::optional<Device> device) {
  Target target;
  std::optional<DType> promoted;
  std::optional<Device> found;
  for (const Operand* parameter : parameters) {
    if (parameter->is_number()) continue;
    const Tensor& x = parameter->tensor();
    if (!x.defined()) fail<ValueError>("[", op, "] got an undefined tensor");
    if (is_complex(x.dtype())) fail<TypeError>("[", op, "] does not take parameters of dtype ", x.dtype());
    if (is_floating(x.dtype())) promoted = promoted ? promote_types(*promoted, x.dtype()) : x.dtype();
    target.shape = broadcast_shapes(target.shape, x.shape(), op);
    // A 0-d tensor on the CPU may be combined with tensors on any device, like a number.
    if (x.device().is_cpu() && x.ndim() == 0) continue;
    if (found && *found != x.device())
      fail<RuntimeError>("[", op, "] got tensors on ", *found, " and ", x.device(), "; move one with to_device()");
    found = x.device();
  }
  if (shape) {
    if (!broadcasts_to(target.shape, *shape)) {
      fail<ValueError>("[", op, "] parameters of shape ", target.shape, " do not broadcast to the shape ", *shape);
    }
    target.shape = *shape;
  }
  target.dtype = dtype.value_or(promoted.value_or(DType::Float32));
  if (!is_floating(target.dtype)) fail<TypeError>("[", op, "] dtype must be floating, got ", target.dtype);
  target.device = device.value_or(found.value_or(default_device()));
  if (found && *found != target.device) {
    fail<RuntimeError>("[", op, "] parameters are on ", *found, ", but device is ", target.device);
  }
  return target;
}

Parameter::Parameter(const Operand& given, const Target& target) {
  if (given.is_number()) {
    number_ = given.number();
  } else {
    tensor_ = cast(given.tensor(), target.computed());
  }
}

void check_valid(const char* op, const char* what, const Tensor& valid) {
  if (!valid.device().is_cpu() || valid.numel() == 0) return;
  const Tensor all = contiguous(is_batched(valid) ? physical(valid, *valid->hidden) : valid);
  const bool* data = all.data<bool>();
  if (!std::all_of(data, data + all.numel(), [](bool ok) { return ok; })) fail<ValueError>("[", op, "] ", what);
}

Tensor draw(const char* op, const Fill& fill, const Dims& shape, DType dtype, Device device, Generator* generator) {
  check_generator(op, generator, device);
  const HiddenAxes axes = drawn_axes(op);
  const DType filled = kFilled.contains(dtype) ? dtype : DType::Float32;
  const Tensor out = empty(with_axes(axes, shape), filled, device);
  fill_tensor(op, fill, out, generator);
  return hide_in_place(cast(out, dtype), axes);
}

bool takes_draws(const Tensor& x) {
  return x.is_contiguous() && kFilled.contains(x.dtype()) && autograd::thread_state().batch_scopes.empty();
}

void draw_into(const char* op, const Fill& fill, const Tensor& x, Generator* generator) {
  check_generator(op, generator, x.device());
  fill_tensor(op, fill, x, generator);
}

Fill uniform_fill(const char* op, double low, double high, DType dtype) {
  if (!(low <= high)) fail<ValueError>("[", op, "] low must not exceed high, got ", low, " and ", high);
  if (!std::isfinite(high - low)) fail<ValueError>("[", op, "] the range must be finite, got ", low, " to ", high);
  Fill fill{.kind = Fill::Kind::Uniform, .low = low, .high = high};
  switch (dtype) {
    case DType::Float16:
      fill.bits = 11;
      fill.top = largest_below<Half>(low, high);
      break;
    case DType::BFloat16:
      fill.bits = 8;
      fill.top = largest_below<BFloat16>(low, high);
      break;
    case DType::Float64:
      fill.top = largest_below_in<double>(low, high);
      break;
    default:
      fill.top = largest_below_in<float>(low, high);
  }
  return fill;
}

Fill coin_fill(double p) {
  return {.kind = Fill::Kind::Coin, .range = static_cast<std::uint64_t>(std::nearbyint(p * 0x1p32))};
}

Tensor draw_keys(const char* op, const Dims& shape, Device device, Generator* generator) {
  const Fill fill{.kind = Fill::Kind::Integer,
                  .first = std::numeric_limits<std::int64_t>::min(),
                  .range = std::numeric_limits<std::uint64_t>::max()};
  return draw(op, fill, shape, DType::Int64, device, generator);
}

}  // namespace random
}  // namespace lamella
