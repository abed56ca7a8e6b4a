#include "engine/autograd/autocast/autocast.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>
#include <utility>

#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/core/error.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

/// Copy of a parameter in lower precision.
struct Copy {
  Tensor source;
  std::uint32_t version = 0;
  Tensor lowered;
};
/// Parameter, dtype of the copy, and true if the cast was recorded.
using CopyKey = std::tuple<const TensorImpl*, DType, bool>;

struct OfThread {
  AutocastState state;
  int depth = 0;
  std::map<CopyKey, Copy> copies;
};

OfThread& of_thread() {
  thread_local OfThread own;
  return own;
}

constexpr DTypeSet kLow{DType::Float16, DType::BFloat16};
constexpr DTypeSet kCast = kLow | DTypeSet{DType::Float32};

std::array<std::atomic<DType>, kDeviceTypeCount> defaults{DType::BFloat16, DType::Float16, DType::BFloat16,
                                                          DType::BFloat16};

DeviceType kind_of(const Tensor& x) {
  const DeviceType type = x.device().type;
  return type == DeviceType::Meta ? DeviceType::CPU : type;
}

void set_bit(bool on) noexcept {
  auto& bits = modes().interceptors;
  bits = static_cast<std::uint8_t>(on ? bits | Modes::kAutocast : bits & ~Modes::kAutocast);
}

void check_dtype(DType dtype) {
  if (!kLow.contains(dtype)) fail<TypeError>("[autocast] dtype must be bfloat16 or float16, got ", dtype);
}

/// True if a copy of x may be used again: x is a parameter in float32, and nothing else observes calls or the tensors
/// that they make (another interceptor, a layer's forward, a recorded backward, inference mode, vmap).
bool is_kept(const Tensor& x) {
  const Modes& mode = modes();
  return of_thread().state.cache_enabled && x.dtype() == DType::Float32 &&
         (mode.interceptors & ~Modes::kAutocast) == 0 && !mode.in_forward && !mode.recorded_backward &&
         !mode.inference && thread_state().batch_levels.empty() && (x->flags & TensorImpl::kView) == 0 &&
         wants_gradient(x) && x.is_leaf();
}

}  // namespace

bool AutocastState::any_enabled() const noexcept {
  return std::ranges::any_of(devices, [](const OnDevice& device) { return device.enabled; });
}

AutocastState AutocastState::now() {
  AutocastState state = of_thread().state;
  if (!autocast_active()) {
    for (OnDevice& device : state.devices) device.enabled = false;
  }
  return state;
}

bool is_autocast_enabled(DeviceType type) noexcept { return autocast_active() && of_thread().state.on(type).enabled; }

DType autocast_dtype(DeviceType type) noexcept {
  if (is_autocast_enabled(type)) return of_thread().state.on(type).dtype;
  return defaults[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
}

void set_autocast_dtype(DeviceType type, DType dtype) {
  check_dtype(dtype);
  defaults[static_cast<std::size_t>(type)].store(dtype, std::memory_order_relaxed);
}

AutocastBefore enter_autocast(const AutocastState& state) {
  for (const AutocastState::OnDevice& device : state.devices) {
    if (device.enabled) check_dtype(device.dtype);
  }
  OfThread& own = of_thread();
  const AutocastBefore before{own.state, autocast_active()};
  own.state = state;
  ++own.depth;
  set_bit(state.any_enabled());
  return before;
}

void leave_autocast(const AutocastBefore& before) noexcept {
  OfThread& own = of_thread();
  own.state = before.state;
  set_bit(before.active);
  if (--own.depth <= 0) {
    own.depth = 0;
    const std::map<CopyKey, Copy> dropped = std::exchange(own.copies, {});
  }
}

Tensor lower_input(const Tensor& x) {
  if (!x.defined() || !kCast.contains(x.dtype())) return x;
  OfThread& own = of_thread();
  const AutocastState::OnDevice device = own.state.on(kind_of(x));
  if (!device.enabled || x.dtype() == device.dtype) return x;
  if (!is_kept(x)) return primitives().cast(x, device.dtype);
  Copy& copy = own.copies[{x.operator->(), device.dtype, is_grad_enabled()}];
  if (!copy.lowered.defined() || copy.version != x.version())
    copy = {.source = x, .version = x.version(), .lowered = primitives().cast(x, device.dtype)};
  return copy.lowered;
}

Tensor raise_input(const Tensor& x) {
  if (!x.defined() || !kLow.contains(x.dtype()) || !of_thread().state.on(kind_of(x)).enabled) return x;
  return primitives().cast(x, DType::Float32);
}

Tensor cast_input(const Tensor& x, DType dtype) {
  if (!x.defined() || !kCast.contains(x.dtype()) || x.dtype() == dtype || !of_thread().state.on(kind_of(x)).enabled)
    return x;
  return primitives().cast(x, dtype);
}

}  // namespace lamella::autograd
