#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/device.h"

namespace lamella {

/// A kernel in the language of a kind of devices, with what decides its machine code.
struct KernelSource {
  /// Opens error messages.
  std::string label;
  std::string text;
  /// The kernel's name, as an expression of the language: "scale", "scale<float>".
  std::string name;
  /// Options of the compiler.
  std::vector<std::string> options;
  /// True if the text, the name and the options alone decide, so that the machine code may be kept in a file.
  bool is_whole = true;
  /// Folder for such files, as FileCache takes it.
  std::string folder = {};
};

/// A launch of a kernel.
struct KernelLaunch {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  /// Bytes of dynamic shared memory.
  unsigned shared = 0;
  /// Addresses of the arguments.
  void** arguments = nullptr;
};

/// Compiles kernels while the program runs, and launches them.
class KernelCompiler {
 public:
  KernelCompiler() = default;
  virtual ~KernelCompiler() = default;
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  /// Returns a kernel for a device: one that was loaded before, or is kept in a file, or a new one. It stays loaded as
  /// long as the process lives. Throws RuntimeError, with the compiler's messages, if the source does not compile. May
  /// take seconds, and waits for other threads: the caller lets the host's threads run.
  virtual void* load(Device device, const KernelSource& source) = 0;
  /// Queues a kernel of load() in this thread's current stream of the device; `label` opens error messages.
  virtual void launch(Device device, void* kernel, const char* label, const KernelLaunch& launch) = 0;
};

/// Registers the compiler of a kind of devices, when its runtime's library loads.
void register_kernel_compiler(DeviceType type, std::unique_ptr<KernelCompiler> compiler);
/// Returns it. Throws RuntimeError if there is none in this build; `label` opens the message.
KernelCompiler& kernel_compiler(Device device, const char* label);

}  // namespace lamella
