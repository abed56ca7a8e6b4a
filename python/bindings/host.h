#pragma once

namespace lamella::python {

/// Registers the engine's callbacks into Python: source lines, the GIL, interrupts.
void install_host_hooks();

}  // namespace lamella::python
