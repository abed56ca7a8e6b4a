#include "engine/core/modes.h"

namespace lamella::autograd::detail {

[[gnu::tls_model("initial-exec")]] thread_local constinit Modes modes;

}  // namespace lamella::autograd::detail
