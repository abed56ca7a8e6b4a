#pragma once

#include <array>
#include <cstdint>

// Errors in the elements of arguments, on a device that works behind the host: a kernel finds them, and the host raises
// them when it next waits for the device. A check on the host would wait in each call.

namespace lamella {

/// Numbers that an error's message has.
using LateNumbers = std::array<std::int64_t, 3>;

/// Throws the error of `op`, with a message that ends with `hint`. It may be called long after the operator, and by
/// another thread.
using RaiseLate = void (*)(const char* op, const LateNumbers& numbers, const char* hint);

}  // namespace lamella
