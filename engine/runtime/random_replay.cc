#include "engine/runtime/random_replay.h"

namespace lamella::detail {

[[gnu::tls_model("initial-exec")]] thread_local Generator* replayed_generator = nullptr;

}  // namespace lamella::detail
