#pragma once

namespace lamella::python {

/// Gives the engine what Python lends it: source lines, the GIL, interrupts.
void install_host_hooks();

}  // namespace lamella::python
