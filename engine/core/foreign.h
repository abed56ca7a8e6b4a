#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

// Note [Foreign memory]
// Writers outside of the engine, which share a tensor's memory (numpy, DLPack consumers), do not bump its version.
// While memory is shared, its version carries Storage::kForeign, and a saved tensor stores a checksum of its contents
// instead of its version, which is compared when it is used. Memory that is exported while it may have been saved
// before gets a checksum at that moment, with which earlier saved tensors are compared when they are used. Ordinary
// memory has no such costs.

namespace lamella {

/// Marks x's memory as imported: it may be written to from outside as long as it lives.
inline void note_imported(const Tensor& x) { x->storage->set_foreign(); }

/// True if x's memory may have been saved for backward; `holders` is the number of references to x that belong to the
/// caller or to the host's object.
inline bool may_be_saved(const Tensor& x, std::uint32_t holders = 1) noexcept {
  return x->use_count() > holders || !x->storage->unique();
}

/// Returns the stamp that a saved tensor stores: x's version, or a checksum of its contents if the memory is foreign.
std::uint32_t foreign_stamp(const Tensor& x) noexcept;
inline std::uint32_t stamp_of(const Tensor& x) noexcept {
  const std::uint32_t word = x->storage->version_word();
  return word & Storage::kForeign ? foreign_stamp(x) : word;
}

/// True if the values of x differ from those when `stamp` was taken; called only if its version word differs.
bool foreign_changed(const Tensor& x, std::uint32_t stamp) noexcept;
/// True if x was written to since `stamp` was taken.
inline bool changed_since(const Tensor& x, std::uint32_t stamp) noexcept {
  const std::uint32_t word = x->storage->version_word();
  return word != stamp && (((word | stamp) & Storage::kForeign) == 0 || foreign_changed(x, stamp));
}

}  // namespace lamella
