#include "engine/core/foreign.h"

#include "engine/core/checksum.h"
#include "engine/core/exports.h"
#include "engine/core/physical_layout.h"

namespace lamella {
namespace {

void add_elements(Checksum& sum, DimsView shape, DimsView strides, const char* at, std::size_t item) {
  if (shape.empty()) return sum.add(at, item);
  const auto step = strides[0] * static_cast<std::int64_t>(item);
  if (shape.size() == 1 && strides[0] == 1) return sum.add(at, static_cast<std::size_t>(shape[0]) * item);
  for (std::int64_t i = 0; i < shape[0]; ++i, at += step) {
    add_elements(sum, shape.subspan(1), strides.subspan(1), at, item);
  }
}

std::uint64_t checksum(const Tensor& x) noexcept {
  Checksum sum;
  const std::size_t item = item_size(x.dtype());
  if (x->elements == 0) return sum.value();
  if (x->contiguous) {
    sum.add(x->data, static_cast<std::size_t>(x->elements) * item);
  } else {
    const auto [shape, strides] = PhysicalLayout(*x.impl());
    add_elements(sum, shape, strides, x->data, item);
  }
  return sum.value();
}

}  // namespace

std::uint32_t foreign_stamp(const Tensor& x) noexcept {
  if (!x.device().is_cpu() || !x->data) return x->storage->version_word();
  return Storage::kForeign | static_cast<std::uint32_t>(checksum(x) >> 33);
}

bool foreign_changed(const Tensor& x, std::uint32_t stamp) noexcept {
  const Storage& storage = *x->storage;
  if (stamp & Storage::kForeign) return foreign_stamp(x) != stamp;
  // The tensor was saved before the memory was exported.
  return storage.version() != stamp || changed_by_export(storage, stamp);
}

}  // namespace lamella
