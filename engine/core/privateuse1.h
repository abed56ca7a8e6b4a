#pragma once

#include <string_view>

namespace lamella {

/// Names the devices of the kind PrivateUse1: "npu" makes them "npu:0", "npu:1" ..., in C++ and in Python. Naming them
/// the same again is fine. ValueError for what is no name (lower-case letters, digits and '_', a letter first), or is
/// another device's; RuntimeError where they have another name already.
void rename_privateuse1_backend(std::string_view name);
/// That name; "privateuse1" until there is one.
std::string_view privateuse1_backend_name() noexcept;
/// Whether there is one.
bool is_privateuse1_renamed() noexcept;

namespace detail {
/// This thread's device of that kind, which the name without an index stands for.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit int current_privateuse1;
}  // namespace detail

}  // namespace lamella
