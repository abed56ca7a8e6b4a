#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lamella {

/// True if the system may refuse memory that the machine has: under RLIMIT_AS or RLIMIT_DATA (`ulimit -v`, `-d`), or
/// without overcommitment (vm.overcommit_memory=2). Costs two system calls.
bool memory_is_limited() noexcept;

/// True if the system can provide `bytes` more in one piece now; memory cached by the CPU's allocator is returned if
/// that is necessary. Nothing is reserved: another thread may take the memory first.
bool has_room(std::size_t bytes) noexcept;

/// Throws OutOfMemoryError, "[op] needs N bytes for `purpose` ...", if memory is limited and `bytes` are not available.
/// For calls of libraries that end the process, or hang, if an allocation fails.
void require_room(std::size_t bytes, std::string_view op, std::string_view purpose);

/// Throws OutOfMemoryError: `op` requested `bytes` of CPU memory.
[[noreturn]] void fail_out_of_memory(std::size_t bytes, std::string_view op, std::string_view purpose);

/// Returns "N bytes are held by tensors, M are taken from the system in all", for the CPU.
std::string describe_memory();

/// Extends the main thread's stack for deep calls, to at most half of its limit: the system grows it page by page, and
/// ends the process if a memory limit forbids that. Does nothing on other threads, whose stacks have a fixed size.
void stretch_stack() noexcept;

}  // namespace lamella
