#include "engine/runtime/deterministic.h"

#include <atomic>

#include "engine/core/error.h"

namespace lamella {
namespace {

std::atomic<bool> deterministic{false};

}  // namespace

void use_deterministic_algorithms(bool enabled) noexcept { deterministic.store(enabled, std::memory_order_relaxed); }

bool are_deterministic_algorithms_enabled() noexcept { return deterministic.load(std::memory_order_relaxed); }

void refuse_nondeterministic(const char* op) {
  if (!are_deterministic_algorithms_enabled()) return;
  fail<RuntimeError>("[", op,
                     "] has no deterministic algorithm on this device; compute it on the CPU, or allow others by "
                     "use_deterministic_algorithms(False)");
}

}  // namespace lamella
