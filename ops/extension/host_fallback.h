#pragma once

#include <span>

#include "engine/registry/kernel.h"

namespace lamella {

/// Runs any operator on copies of its tensors in host memory, and brings the results back: a fallback for devices that
/// an extension brings.
///
///     LAMELLA_LIBRARY_IMPL(_, PrivateUse1, m) {
///       m.fallback(lamella::registry::KernelFunction::boxed(lamella::host_fallback));
///     }
///
/// Tensors that the schema marks as written to are copied back, and results that are one of the arguments are that
/// argument. Random numbers come from the device's generator. RuntimeError for a result that shows the memory of an
/// argument (a view): there is none on the host.
void host_fallback(const registry::CallContext& context, std::span<const registry::Arg> args,
                   std::span<registry::Value> results);

}  // namespace lamella
