#include "engine/runtime/deterministic.h"

#include <atomic>

namespace lamella {
namespace {

std::atomic<bool> deterministic{false};

}  // namespace

void use_deterministic_algorithms(bool enabled) noexcept { deterministic.store(enabled, std::memory_order_relaxed); }

bool are_deterministic_algorithms_enabled() noexcept { return deterministic.load(std::memory_order_relaxed); }

}  // namespace lamella
