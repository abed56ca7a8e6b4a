#include "engine/core/host.h"

namespace lamella::detail {

constinit HostHooks host_hooks;

}  // namespace lamella::detail
