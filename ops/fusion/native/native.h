#pragma once

#include <string>
#include <vector>

#include "ops/fusion/native/emit.h"
#include "ops/fusion/native/settings.h"

// Note [Native programs]
// A fused program that runs often, or on large tensors, is compiled: its formulas become the C++ source of one loop
// over registers (emit.cc), the system's compiler makes a shared library of it (compiler.cc), which is kept in a folder
// (engine/runtime/file_cache.cc) and loaded. That takes some 50 ms, in a thread of its own; until then, and wherever it
// fails, the program runs block by block. The source includes nothing and is linked with nothing: functions are called
// by address. What cannot be had is no error: whatever goes wrong is told once, ends compiling, and costs speed alone.

namespace lamella::fusion::native {

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
/// Notes why the kernel of a device could not be compiled.
void note_device_problem(const std::string& text);
/// True unless compiling is off.
bool compiles() noexcept;
/// True if programs are compiled that have not run often.
bool compiles_at_once() noexcept;
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

/// Returns the kernel for a run of the program on that many elements; null if there is none yet, and the run goes block
/// by block.
Kernel find_kernel(const Program& program, Variant variant, std::int64_t elements);

}  // namespace lamella::fusion::native
