#pragma once

#include <cstdint>

#include "engine/core/storage.h"

// Memory of the engine that others may write to without counting: see Note [Foreign memory].

namespace lamella {

/// A scope in which somebody outside may write into a storage.
class Export {
 public:
  /// `shared` is true if the memory may have been saved before.
  Export(Storage& storage, bool shared);
  ~Export();
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

 private:
  Storage* storage_;
};

/// Removes the records of foreign memory that is destroyed.
void forget_exports(const Storage& storage) noexcept;

/// True if exported memory, of which a tensor was saved at `version`, before the export, was written to from outside.
bool changed_by_export(const Storage& storage, std::uint32_t version) noexcept;

}  // namespace lamella
