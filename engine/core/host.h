#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lamella {

/// A line of the user's source. `file` is interned and never freed; null where the line is not known.
struct SourceLine {
  const char* file = nullptr;
  std::int32_t line = 0;

  explicit operator bool() const { return file != nullptr; }
};

/// A call of the host language that is under way. The texts are interned and never freed.
struct HostFrame {
  const char* file = nullptr;
  const char* function = nullptr;
  std::int32_t line = 0;
};

/// What the host language lends the engine, which knows no Python. All entries may be null.
struct HostHooks {
  /// The line of the user's code that is running, for error messages.
  SourceLine (*current_line)() = nullptr;
  /// Lets other threads of the host run (Python: releases the GIL, where this thread holds it); null where there is
  /// nothing to give.
  void* (*release)() = nullptr;
  /// Undoes release().
  void (*restore)(void*) = nullptr;
  /// Throws where the user asked to stop (Ctrl-C).
  void (*check_interrupt)() = nullptr;
  /// Fills `frames` with the user's calls, innermost first, and returns how many there are, at most `capacity`; calls
  /// within the library are left out.
  std::size_t (*stack)(HostFrame* frames, std::size_t capacity) = nullptr;
  /// How many of its calls the host nests within each other (Python: sys.getrecursionlimit()).
  int (*recursion_limit)() = nullptr;
  /// Throws what the host throws where calls are nested deeper (Python: RecursionError).
  void (*fail_recursion)(const std::string& message) = nullptr;
  /// Adds a note to the host's exception that is being handled; false where it is none of the host's.
  bool (*annotate)(const std::string& note) = nullptr;
};

namespace detail {
extern HostHooks host_hooks;
}

/// The process's hooks; set once, when the bindings load.
inline HostHooks& host_hooks() { return detail::host_hooks; }

inline SourceLine current_source_line() {
  const auto locate = host_hooks().current_line;
  return locate ? locate() : SourceLine{};
}

/// The line of the host language where the user calls the library; none outside of a host.
SourceLine user_line();

/// Lets the host's other threads run during work that is long enough to pay for the switch.
class HostRelease {
 public:
  /// `elements` of work are coming; nothing happens below a threshold.
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
