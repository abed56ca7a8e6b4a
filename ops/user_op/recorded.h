#pragma once

#include "engine/registry/kernel.h"

namespace lamella::user_op::detail {

/// The registry's kernel for Autograd: records a call as a layer whose backward is the graph that
/// REGISTER_USER_OP_GRAD describes.
void run_recorded(const void* entry, const registry::CallContext& context, const registry::Arg* args,
                  registry::Value* results);

}  // namespace lamella::user_op::detail
