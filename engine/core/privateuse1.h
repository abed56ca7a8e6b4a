#pragma once

#include <string_view>

namespace lamella {

/// Names the devices of the kind PrivateUse1: "npu" makes them "npu:0", "npu:1" ..., in C++ and in Python. Repeating
/// the same name is allowed. Throws ValueError for an invalid name (lower-case letters, digits and '_', a letter first)
/// or that of another device, RuntimeError if they have another name already.
void rename_privateuse1_backend(std::string_view name);
/// Returns the name of the devices of the kind PrivateUse1; "privateuse1" until they are named.
std::string_view privateuse1_backend_name() noexcept;
/// True if the devices of the kind PrivateUse1 were named.
bool is_privateuse1_renamed() noexcept;

namespace detail {
/// Current device of this thread of the kind PrivateUse1, for which the name without an index stands.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit int current_privateuse1;
}  // namespace detail

}  // namespace lamella
