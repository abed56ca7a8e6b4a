#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamella::autograd {

/// A call of a C++ function of the user's.
struct CppFrame {
  /// Demangled; "?" where the program was stripped of its names.
  std::string function;
  /// The file name of the program or library, and the address of the call in it: what addr2line -e wants.
  std::string object;
  std::uintptr_t offset = 0;
};

/// The return addresses of the calls under way, innermost first.
std::vector<void*> capture_frames();
/// The user's functions among them: those of this library, of the host language and of the system are left out. At most
/// `limit`.
std::vector<CppFrame> user_frames(std::span<void* const> addresses, std::size_t limit);

}  // namespace lamella::autograd
