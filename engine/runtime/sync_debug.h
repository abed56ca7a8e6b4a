#pragma once

#include <cstdint>
#include <string_view>

namespace lamella {

/// Selects the reaction to a wait of the host for a device: a step without such waits is limited by the device alone.
enum class SyncDebugMode : std::uint8_t { Default, Warn, Error };

/// Returns the process's mode.
SyncDebugMode sync_debug_mode() noexcept;
void set_sync_debug_mode(SyncDebugMode mode) noexcept;

/// Warns, or throws RuntimeError, as the mode says, before an operator's host code waits for a device.
void note_wait(std::string_view op);

}  // namespace lamella
