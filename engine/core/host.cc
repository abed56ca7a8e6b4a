#include "engine/core/host.h"

namespace lamella {

constinit HostHooks detail::host_hooks;

SourceLine user_line() {
  HostFrame frame;
  if (host_hooks().stack && host_hooks().stack(&frame, 1) == 1) return {frame.file, frame.line};
  return current_source_line();
}

}  // namespace lamella
