#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

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

  std::mutex mutex;
  std::vector<Form> all;
};

}  // namespace lamella::fusion::native
