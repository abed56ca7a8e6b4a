#include "engine/runtime/cudnn_setting.h"

#include <atomic>

namespace lamella {
namespace {

std::atomic<bool> is_enabled{true};
std::size_t (*find_version)() = nullptr;

}  // namespace

void set_cudnn_enabled(bool enabled) noexcept { is_enabled.store(enabled, std::memory_order_relaxed); }

bool is_cudnn_enabled() noexcept { return is_enabled.load(std::memory_order_relaxed); }

std::size_t cudnn_version() { return find_version ? find_version() : 0; }

void register_cudnn(std::size_t (*version)()) { find_version = version; }

}  // namespace lamella
