#pragma once

#include <span>

#include "engine/registry/kernel.h"

namespace lamella {

/// Runs any operator on copies of its tensors in host memory and moves the results back: a fallback for devices that an
/// extension brings.
///
///     LAMELLA_LIBRARY_IMPL(_, PrivateUse1, m) {
///       m.fallback(lamella::registry::KernelFunction::boxed(lamella::host_fallback));
///     }
///
/// Tensors that the schema marks as written to are copied back, and a result that is one of the arguments is returned
/// as that argument. Random numbers come from the device's generator. Throws RuntimeError if a result is a view of an
/// argument's memory, because it would be a view of the copy.
void host_fallback(const registry::CallContext& context, std::span<const registry::Arg> args,
                   std::span<registry::Value> results);

}  // namespace lamella
