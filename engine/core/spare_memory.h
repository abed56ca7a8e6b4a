#pragma once

namespace lamella {

/// Frees a reserved block for a scope, so that an error's message can be written when there is no other memory left.
class SpareMemory {
 public:
  SpareMemory() noexcept;
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;
};

}  // namespace lamella
