#include "engine/core/default_device.h"

namespace lamella {
namespace {

thread_local constinit Device current;

}  // namespace

Device default_device() noexcept { return current; }
void set_default_device(Device device) noexcept { current = device; }

}  // namespace lamella
