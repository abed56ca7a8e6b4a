#include "ops/support/checks.h"

#include <algorithm>

#include "ops/support/extension_device.h"

namespace lamella {

Dims normalize_axes(const std::optional<Dims>& axes, std::size_t ndim, std::string_view op) {
  Dims result;
  if (!axes) {
    for (std::size_t i = 0; i < ndim; ++i) result.push_back(static_cast<std::int64_t>(i));
    return result;
  }
  for (const std::int64_t axis : *axes) result.push_back(normalize_axis(axis, ndim, op));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    fail<ValueError>("[", op, "] an axis is named twice in ", *axes);
  }
  return result;
}

void check_defined(const Tensor& x, std::string_view op) {
  if (!x.defined()) fail<ValueError>("[", op, "] got an undefined tensor");
}

void refuse_dtype(DType dtype, DTypeSet allowed, std::string_view op) {
  std::string names;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (allowed.contains(static_cast<DType>(i))) names += str(names.empty() ? "" : ", ", static_cast<DType>(i));
  }
  fail<TypeError>("[", op, "] does not take dtype ", dtype, ": expected one of ", names);
}

void check_dtype(const Tensor& x, DTypeSet allowed, std::string_view op) {
  if (!allowed.contains(x.dtype())) refuse_dtype(x.dtype(), allowed, op);
}

void check_same_device(const Tensor& a, const Tensor& b, std::string_view op) {
  if (a.device() != b.device())
    fail<RuntimeError>("[", op, "] got tensors on ", a.device(), " and ", b.device(), "; move one with to_device()");
}

void no_kernel(std::string_view op, Device device) {
  if (is_extension(device)) {
    const std::string names = extension_kernel_names();
    fail<NotImplementedError>("[", op, "] has no kernel for device ", device, "; its extension has kernels for ",
                              names.empty() ? std::string("no built-in operator") : names,
                              ", and no fallback. Register one with impl(\"", op,
                              "\", PrivateUse1, ...), or host_fallback for all operators without one");
  }
  fail<NotImplementedError>("[", op, "] has no kernel for device ", device);
}

void no_kernel(std::string_view op, DType dtype, Device device) {
  fail<NotImplementedError>("[", op, "] has no kernel for dtype ", dtype, " on ", device);
}

void require_fallback(std::string_view op, Device device) {
  if (!falls_back_to_host(device)) no_kernel(op, device);
}

}  // namespace lamella
