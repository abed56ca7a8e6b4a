#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lamella {

/// A line of the user's source. `file` is interned and never freed; null if the line is unknown.
struct SourceLine {
  const char* file = nullptr;
  std::int32_t line = 0;

  explicit operator bool() const { return file != nullptr; }
};

/// An active call in the host language. The texts are interned and never freed.
struct HostFrame {
  const char* file = nullptr;
  const char* function = nullptr;
  std::int32_t line = 0;
};

/// Functions that the host language provides to the engine, which does not know Python. All entries may be null.
struct HostHooks {
  /// Returns the line of the user's code that is running, for error messages.
  SourceLine (*current_line)() = nullptr;
  /// Lets other host threads run (in Python: releases the GIL if this thread holds it); returns null if there is
  /// nothing to release.
  void* (*release)() = nullptr;
  /// Undoes release().
  void (*restore)(void*) = nullptr;
  /// Throws if the user requested an interrupt (Ctrl-C).
  void (*check_interrupt)() = nullptr;
  /// Fills `frames` with the user's calls, innermost first, and returns their number, at most `capacity`; calls within
  /// the library are left out.
  std::size_t (*stack)(HostFrame* frames, std::size_t capacity) = nullptr;
  /// Returns the largest depth of nested calls in the host (Python: sys.getrecursionlimit()).
  int (*recursion_limit)() = nullptr;
  /// Throws the host's exception for calls that are nested too deep (Python: RecursionError).
  void (*fail_recursion)(const std::string& message) = nullptr;
  /// Adds a note to the host's exception that is being handled; returns false if it is not one of the host's.
  bool (*annotate)(const std::string& note) = nullptr;
  /// Warns the user (Python: a UserWarning at the user's line). Throws where the user has made that an error.
  void (*warn)(const std::string& message) = nullptr;
};

namespace detail {
extern HostHooks host_hooks;
}

/// Returns the process's hooks, which the bindings set once when they load.
inline HostHooks& host_hooks() { return detail::host_hooks; }

inline SourceLine current_source_line() {
  const auto locate = host_hooks().current_line;
  return locate ? locate() : SourceLine{};
}

/// Returns the line of the host language where the user calls the library; none outside of a host.
SourceLine user_line();

/// Lets the host's other threads run during work that is long enough to pay for the switch.
class HostRelease {
 public:
  /// Announces work on `elements` elements; does nothing below a threshold.
  explicit HostRelease(std::int64_t elements) {
    if (elements >= kWorthwhile && host_hooks().release) state_ = host_hooks().release();
  }
  ~HostRelease() {
    if (state_) host_hooks().restore(state_);
  }
  HostRelease(const HostRelease&) = delete;
  HostRelease& operator=(const HostRelease&) = delete;

 private:
  static constexpr std::int64_t kWorthwhile = 32768;
  void* state_ = nullptr;
};

}  // namespace lamella
