#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lamella {

/// True where the system may refuse memory that the machine has: under RLIMIT_AS or RLIMIT_DATA (`ulimit -v`, `-d`), or
/// where it promises no more than there is (vm.overcommit_memory=2). Costs two system calls.
bool memory_is_limited() noexcept;

/// True if `bytes` more are to be had from the system in one piece now; what the CPU's allocator keeps for reuse is
/// given back where that is what it takes. Nothing is held: another thread may be quicker.
bool has_room(std::size_t bytes) noexcept;

/// OutOfMemoryError, "[op] needs N bytes for `purpose` ...", where memory is limited and `bytes` are not to be had. For
/// calls of libraries that end the process, or wait for ever, where the system refuses what they ask for.
void require_room(std::size_t bytes, std::string_view op, std::string_view purpose);

/// Throws an OutOfMemoryError: `op` asked for `bytes` of the CPU's memory.
[[noreturn]] void fail_out_of_memory(std::size_t bytes, std::string_view op, std::string_view purpose);

/// "N bytes are held by tensors, M are taken from the system in all", of the CPU.
std::string describe_memory();

/// For a scope, frees a block that is kept so that the message of an error can be written where there is no other
/// memory left.
class SpareMemory {
 public:
  SpareMemory() noexcept;
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;
};

/// Makes the main thread's stack as long as deep calls need it, at most half of what it may become: the system lets it
/// grow page by page, and ends the process where a limit of memory forbids that. Nothing happens on other threads,
/// whose stacks have their length from the start.
void stretch_stack() noexcept;

}  // namespace lamella
