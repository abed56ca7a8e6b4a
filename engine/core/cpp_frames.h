#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamella::autograd {

/// A call of one of the user's C++ functions.
struct CppFrame {
  /// Demangled name; "?" if the program was stripped.
  std::string function;
  /// File name of the program or library, and the address of the call in it, as addr2line -e takes them.
  std::string object;
  std::uintptr_t offset = 0;
};

/// Returns the return addresses of the active calls, innermost first.
std::vector<void*> capture_frames();
/// Returns at most `limit` of the user's functions among them, leaving out those of this library, of the host language
/// and of the system.
std::vector<CppFrame> user_frames(std::span<void* const> addresses, std::size_t limit);

}  // namespace lamella::autograd
