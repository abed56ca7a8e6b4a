#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/file_cache.h"
#include "ops/fusion/native/emit.h"
#include "ops/fusion/native/settings.h"

namespace lamella::fusion::native {

/// The code of one or several programs that differ in numbers only.
struct Code {
  enum class State { New, Queued, Ready, Failed };

  explicit Code(std::string text) : body(std::move(text)) {}

  const std::string body;
  std::atomic<Kernel> kernel{nullptr};
  State state = State::New;
};

/// A failure, which ends compiling or costs a file.
struct Problem {
  enum class Kind { NoCompiler, Failed, Late, Folder, NotLoaded, Damaged, Device };

  Kind kind;
  std::string text;
};

/// Turns code into kernels. Used by one thread at a time.
class Compiler {
 public:
  explicit Compiler(const Settings& settings) : settings_(settings), cache_(settings.cache, ".so") {}

  struct Result {
    int compiled = 0;
    int loaded = 0;
    /// The last one ended the work, if `gave_up` is set.
    std::vector<Problem> problems;
    bool gave_up = false;
  };
  /// Sets the kernel of each code, from the cache or compiled together; those that get none stay without.
  Result run(const std::vector<std::shared_ptr<Code>>& codes, const std::atomic<bool>& stop);

  /// Path and version, once the compiler was asked.
  const std::string& identity() const { return identity_; }
  const std::string& folder() const { return cache_.folder(); }

 private:
  struct Unit {
    std::shared_ptr<Code> code;
    std::string name;
    std::string key;
  };

  std::optional<Problem> ask(const std::atomic<bool>& stop);
  std::optional<Problem> compile(const std::vector<Unit>& units, Result& result, const std::atomic<bool>& stop);
  std::vector<std::string> command() const;
  std::chrono::milliseconds limit() const;

  Settings settings_;
  FileCache cache_;
  std::string path_;
  std::string identity_;
};

}  // namespace lamella::fusion::native
