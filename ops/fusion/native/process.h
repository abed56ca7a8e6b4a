#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace lamella::fusion::native {

/// The end of a program that was run.
struct Outcome {
  enum class Kind { Done, Failed, Late, Stopped, NotStarted };

  Kind kind = Kind::Done;
  /// Output of the program, up to 4096 bytes, or the system's message if it did not start.
  std::string output;
};

/// Runs a program, found by its path, with `input` to read, and waits for it. It and what it started are ended at the
/// time limit, and when `stop` is set.
Outcome run_program(const std::vector<std::string>& command, const std::string& input, std::chrono::milliseconds limit,
                    const std::atomic<bool>& stop);

/// Returns the path of an executable file: of that path, or of that name in a folder of PATH.
std::optional<std::string> find_program(const std::string& name);

}  // namespace lamella::fusion::native
