#include "engine/registry/entry.h"

namespace lamella::registry {
namespace {

std::atomic<std::uint64_t> current_generation{1};
/// Fallback kernels by DispatchKey; calls read them without a lock.
std::array<std::atomic<const Record*>, kDispatchKeyCount> fallbacks{};

}  // namespace

std::uint64_t generation() noexcept { return current_generation.load(std::memory_order_acquire); }

void advance_generation() noexcept { current_generation.fetch_add(1, std::memory_order_acq_rel); }

const Record* fallback_for(DispatchKey key) noexcept {
  return fallbacks[static_cast<std::size_t>(key)].load(std::memory_order_acquire);
}
void set_fallback(DispatchKey key, const Record* record) noexcept {
  fallbacks[static_cast<std::size_t>(key)].store(record, std::memory_order_release);
}

Plan::Plan(Schema parsed) : schema(std::move(parsed)) {
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Schema::Argument& argument = schema.arguments[i];
    if (argument.type.holds_tensors()) tensor_arguments.push_back(static_cast<std::uint8_t>(i));
    if (argument.is_written()) written.push_back(static_cast<std::uint8_t>(i));
    if (argument.type.base == Type::Base::Device && !device_argument) device_argument = i;
  }
  for (std::size_t k = 0; k < schema.results.size(); ++k) {
    const Type& type = schema.results[k].type;
    gives_tensors |= type.base == Type::Base::Tensor;
    if (type == Type{.base = Type::Base::Tensor}) tensor_results.push_back(static_cast<std::uint8_t>(k));
  }
}

OperatorEntry::OperatorEntry(std::string name, std::string overload)
    : name(std::move(name)),
      overload(std::move(overload)),
      full_name(this->overload.empty() ? this->name : this->name + "." + this->overload) {}

void OperatorEntry::update() {
  const Plan* const defined = definitions.empty() ? nullptr : definitions.front().plan;
  if (plan.exchange(defined, std::memory_order_acq_rel) != defined) {
    advance_generation();
  }
  for (std::size_t d = 0; d < kDeviceTypeCount; ++d) {
    const DispatchKey device = backend_key(static_cast<DeviceType>(d));
    const DispatchKey above = autograd_key(static_cast<DeviceType>(d));
    const auto or_else = [](const Record* first, const Record* second) { return first ? first : second; };

    const Record* const composite = implementation(DispatchKey::CompositeImplicitAutograd);
    const Record* own = implementation(device);
    device_kernels[d].store(own, std::memory_order_release);
    if (composite && composite->function.asks_devices()) own = composite;
    own = or_else(own, or_else(implementation(DispatchKey::CompositeExplicitAutograd), composite));
    const bool implicit = own && own->key == DispatchKey::CompositeImplicitAutograd;
    own = or_else(own, fallback_for(device));
    if (own && own->function.is_fallthrough()) own = nullptr;

    const Record* autograd = or_else(implementation(above), implementation(DispatchKey::Autograd));
    if (!autograd && implicit) autograd = own;
    autograd = or_else(autograd, or_else(fallback_for(above), fallback_for(DispatchKey::Autograd)));

    table[static_cast<std::size_t>(device)].store(own, std::memory_order_release);
    table[static_cast<std::size_t>(above)].store(autograd, std::memory_order_release);
  }
}

}  // namespace lamella::registry
