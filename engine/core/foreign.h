#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

// Note [Foreign memory]
// numpy, DLPack's other side and whoever else shares a tensor's memory write into it without counting. While memory is
// so shared, its version carries Storage::kForeign, and a tensor that is saved notes a checksum of its contents in the
// place of its version, which is compared when it is used. Memory that is exported while somebody may have saved it
// before gets a checksum of its own at that moment, with which a tensor saved before it is compared when it is used.
// Ordinary memory pays for none of this.

namespace lamella {

/// Notes that x's memory came from outside, where it may be written to as long as it lives.
inline void note_imported(const Tensor& x) { x->storage->set_foreign(); }

/// Begins and ends the time in which somebody outside may write into a tensor's memory.
class Export {
 public:
  /// `holders` is the number of references to x that belong to the caller or to the host's object.
  explicit Export(const Tensor& x, std::uint32_t holders = 1);
  ~Export();
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

 private:
  Storage* storage_;
};

/// Called by foreign memory that ends.
void forget_exports(const Storage& storage) noexcept;

/// What a saved tensor notes of x: its version, or for foreign memory a checksum of its contents.
std::uint32_t foreign_stamp(const Tensor& x) noexcept;
inline std::uint32_t stamp_of(const Tensor& x) noexcept {
  const std::uint32_t word = x->storage->version_word();
  return word & Storage::kForeign ? foreign_stamp(x) : word;
}

/// Whether x holds other values than when `stamp` was noted; asked where its version word differs from that.
bool foreign_changed(const Tensor& x, std::uint32_t stamp) noexcept;
/// Whether x was written to since `stamp` was noted.
inline bool changed_since(const Tensor& x, std::uint32_t stamp) noexcept {
  const std::uint32_t word = x->storage->version_word();
  return word != stamp && (((word | stamp) & Storage::kForeign) == 0 || foreign_changed(x, stamp));
}

}  // namespace lamella
