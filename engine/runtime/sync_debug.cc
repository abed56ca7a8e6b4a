#include "engine/runtime/sync_debug.h"

#include <atomic>
#include <string>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/runtime/graphs.h"

namespace lamella {
namespace {

std::atomic<SyncDebugMode> mode{SyncDebugMode::Default};

}  // namespace

SyncDebugMode sync_debug_mode() noexcept { return mode.load(std::memory_order_relaxed); }

void set_sync_debug_mode(SyncDebugMode next) noexcept { mode.store(next, std::memory_order_relaxed); }

void note_wait(std::string_view op) {
  if (is_capturing()) [[unlikely]]
    refuse_capture(std::string(op).c_str(), "the host would wait for the device");
  const SyncDebugMode now = sync_debug_mode();
  if (now == SyncDebugMode::Default) return;
  if (now == SyncDebugMode::Error)
    fail<RuntimeError>("[", op, "] the host waits for a device, which set_sync_debug_mode(\"error\") refuses");
  if (host_hooks().warn) host_hooks().warn("[" + std::string(op) + "] the host waits for a device");
}

}  // namespace lamella
