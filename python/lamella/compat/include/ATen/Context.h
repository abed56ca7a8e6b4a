#pragma once

#include "c10/core/Device.h"
#include "engine/core/error.h"
#include "engine/runtime/deterministic.h"
#include "engine/runtime/device_query.h"

namespace at {

/// Switches of the process.
class Context {
 public:
  bool deterministicAlgorithms() const { return lamella::are_deterministic_algorithms_enabled(); }
  void setDeterministicAlgorithms(bool enabled) { lamella::use_deterministic_algorithms(enabled); }
  /// Throws RuntimeError if results must not differ from run to run; called by kernels whose results do.
  static void alertNotDeterministic(const char* caller) {
    if (!lamella::are_deterministic_algorithms_enabled()) return;
    lamella::fail<lamella::RuntimeError>("[", caller, "] does not have a deterministic implementation");
  }
  static bool hasCUDA() { return lamella::cuda::is_available(); }
};

inline Context& globalContext() {
  static Context context;
  return context;
}
inline bool hasCUDA() { return Context::hasCUDA(); }

}  // namespace at
