#pragma once

#include "engine/core/error.h"

namespace lamella::distributed {

/// A collective operation that failed because of another process or of the network: a process that died or did not
/// answer in time, calls that do not fit together. Python's class of this name is a RuntimeError.
class DistributedError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

}  // namespace lamella::distributed
