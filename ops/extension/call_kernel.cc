#include "ops/extension/call_kernel.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/device_backend.h"
#include "ops/extension/host_fallback.h"

namespace lamella::extension {
namespace {

using registry::Arg;
using registry::Record;
using registry::Value;

constexpr DeviceType kType = DeviceType::PrivateUse1;

/// True if the extension registered a fallback of its own, which then sees every call.
bool has_own_fallback() noexcept {
  const Record* const record = fallback();
  return record && !record->function.is(host_fallback);
}

/// Throws if a kernel's result does not have the given shape, dtype and device.
void check_result(const OperatorHandle& handle, const Value& result, DimsView shape, DType dtype, Device device) {
  const Tensor* const y = result.is_tensor() ? &result.tensor() : nullptr;
  const bool fits =
      y && y->defined() && std::ranges::equal(y->shape(), shape) && y->dtype() == dtype && y->device() == device;
  if (fits) return;
  fail<RuntimeError>("[", handle.name().substr(sizeof("lamella::") - 1), "] the kernel for ", name(backend_key(kType)),
                     " returned ", y ? describe(*y) : std::string("no tensor"), ", where ", dtype, to_string(shape),
                     " on ", device, " was wanted");
}

}  // namespace

std::optional<Tensor> call_kernel(std::string_view op, std::span<const Arg> given, DimsView shape, DType dtype,
                                  Device device) {
  return call_kernel(handle_of(op), given, shape, dtype, device);
}

std::optional<Tensor> call_kernel(const OperatorHandle& handle, std::span<const Arg> given, DimsView shape, DType dtype,
                                  Device device) {
  const bool own = has_own_kernel(handle);
  if (!own && !has_own_fallback()) return std::nullopt;
  const Schema& schema = handle.schema();
  std::vector<Arg> args(given.begin(), given.end());
  for (std::size_t i = args.size(); i < schema.arguments.size(); ++i) {
    const auto& value = schema.arguments[i].default_value;
    args.push_back(value ? value->view() : Arg());
  }
  const BackendDeviceGuard guard(device);
  Value result;
  if (!handle.run_device_kernel(kType, !own, args.data(), &result)) return std::nullopt;
  check_result(handle, result, shape, dtype, device);
  return result.take_tensor();
}

}  // namespace lamella::extension
