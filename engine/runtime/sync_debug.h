#pragma once

#include <cstdint>
#include <string_view>

namespace lamella {

/// What to do where the host waits for a device: a step that does not is limited by the device alone.
enum class SyncDebugMode : std::uint8_t { Default, Warn, Error };

/// Returns the process's mode.
SyncDebugMode sync_debug_mode() noexcept;
void set_sync_debug_mode(SyncDebugMode mode) noexcept;

/// Warns, or throws RuntimeError, as the mode says, before an operator's host code waits for a device.
void note_wait(std::string_view op);

}  // namespace lamella
