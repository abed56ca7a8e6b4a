#include "engine/autograd/modes.h"

namespace lamella::autograd::detail {

[[gnu::tls_model("initial-exec")]] thread_local Modes modes;

}  // namespace lamella::autograd::detail
