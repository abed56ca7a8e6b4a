#pragma once

namespace lamella::registry {

/// Whether every call of a registered operator's kernel is checked, in this process: that its results share no memory
/// with arguments unless the schema says so, and that it returns the arguments that the schema says it returns.
/// RuntimeError otherwise. Off at first; for tests and for development.
void set_alias_checks(bool enabled) noexcept;
bool alias_checks_enabled() noexcept;

struct Call;
/// RuntimeError where a result shares memory with an argument and the schema does not say so, or is not the argument
/// that the schema says it is.
void check_aliases(const Call& call);

}  // namespace lamella::registry
