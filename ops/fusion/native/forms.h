#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/core/device.h"
#include "engine/core/dtype.h"

namespace lamella::fusion::native {

struct Code;

/// A program is compiled for a dtype, and for the inputs that are single numbers.
struct Variant {
  DType dtype = DType::Float32;
  std::vector<bool> single;

  bool operator==(const Variant&) const = default;
};

/// The compiled forms of a program: see find_kernel().
struct Forms {
  struct Form {
    Variant variant;
    /// Steps of the runs so far, each on an element.
    std::int64_t work = 0;
    bool emitted = false;
    /// Null before it is worth it, and if the program cannot be compiled.
    std::shared_ptr<Code> code;
  };

  /// See Note [Programs on devices].
  struct OnDevice {
    OnDevice(Variant of, Device on) : variant(std::move(of)), device(on) {}

    Variant variant;
    Device device;
    int runs = 0;
    bool compiled = false;
    /// A kernel of the device's KernelCompiler; null if the program cannot be compiled.
    void* kernel = nullptr;
  };

  std::mutex mutex;
  std::vector<Form> all;
  std::vector<OnDevice> on_devices;
};

}  // namespace lamella::fusion::native
