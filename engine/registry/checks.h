#pragma once

namespace lamella::registry {

/// Enables checks of every kernel call of registered operators, in this process: that results share memory with
/// arguments only if the schema says so, and that kernels return the arguments that the schema says they return. A
/// violation throws RuntimeError. Off by default; for tests and development.
void set_alias_checks(bool enabled) noexcept;
bool alias_checks_enabled() noexcept;

struct Call;
/// Throws RuntimeError where a result shares memory with an argument and the schema does not say so, or is not the
/// argument that the schema says it is.
void check_aliases(const Call& call);

}  // namespace lamella::registry
