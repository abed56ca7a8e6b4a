#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/fusion/native/emit.h"

// Note [Native programs]
// A fused program that runs often, or on large tensors, is compiled: its formulas become the C++ source of one loop
// over registers (emit.cc), the system's compiler makes a shared library of it (compiler.cc), which is kept in a folder
// (cache.cc) and loaded. That takes some 50 ms, in a thread of its own; until then, and wherever it fails, the program
// runs block by block. The source includes nothing and is linked with nothing: functions are called by address. What
// cannot be had is no error: whatever goes wrong is told once, ends compiling, and costs speed alone.

namespace lamella::fusion::native {

enum class Mode {
  Off,
  Background,  ///< programs that are worth it are compiled while they run block by block
  Wait,        ///< every program is compiled before it runs
};

/// Settings of compilation. The first ones are those of the environment: LAMELLA_COMPILER is the
/// compiler's path or name, or "off".
struct Settings {
  Mode mode = Mode::Background;
  /// Path or name; "" for the first of c++, g++ and clang++ that is found.
  std::string compiler;
  /// Folder of compiled programs; "" for that of the environment (see Cache).
  std::string cache;
  /// Time limit of the compiler.
  double seconds = 30;
};

Settings settings();
/// Changes the settings; what failed before is tried again.
void set_settings(Settings settings);

/// Counts and failures since the process began.
struct Status {
  std::string compiler;  ///< its path and version, once it was asked; else ""
  std::string cache;     ///< the folder
  int compiled = 0;      ///< programs compiled
  int loaded = 0;        ///< programs found compiled
  int waiting = 0;       ///< programs that are being compiled
  /// Failures, each kind once.
  std::vector<std::string> problems;
  bool gave_up = false;  ///< true if a problem ended compiling
};

Status status();

/// Returns the problems that nobody was told of yet.
std::vector<std::string> untold_problems();
/// Waits until nothing is being compiled.
void wait_for_all();

/// Has every program compiled that runs in a scope, together where several gather, and waits for them at its end.
class CompileScope {
 public:
  /// Does nothing unless `wanted`, or if compiling is off.
  explicit CompileScope(bool wanted);
  ~CompileScope();
  CompileScope(const CompileScope&) = delete;
  CompileScope& operator=(const CompileScope&) = delete;

 private:
  bool wanted_;
};

struct Code;

/// The compiled forms of a program.
class Forms {
 public:
  /// Returns the kernel for a run on that many elements; null if there is none yet, and the run goes block by block.
  Kernel find(const Program& program, Variant variant, std::int64_t elements);

 private:
  struct Form {
    Variant variant;
    /// Steps of the runs so far, each on an element.
    std::int64_t work = 0;
    bool emitted = false;
    /// Null before it is worth it, and if the program cannot be compiled.
    std::shared_ptr<Code> code;
  };

  std::mutex mutex_;
  std::vector<Form> forms_;
};

}  // namespace lamella::fusion::native
