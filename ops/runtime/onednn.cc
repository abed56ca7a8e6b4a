#include "ops/runtime/onednn.h"

#ifdef LAMELLA_WITH_ONEDNN

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "engine/core/memory_limit.h"
#include "ops/runtime/library_folder.h"

namespace lamella::detail {
namespace {

struct Module {
  std::mutex mutex;
  std::atomic<const Onednn*> functions = nullptr;
  /// True if loading failed for good, so that it is not tried again.
  std::atomic<bool> is_absent = false;
  std::string error;

  const Onednn* load() {
    const std::lock_guard lock(mutex);
    if (functions || is_absent) return functions;
    // oneDNN ends the process if an allocation fails while it initializes. Without it, Eigen computes the products.
    constexpr std::size_t kRoom = std::size_t{64} << 20;
    if (memory_is_limited() && !has_room(kRoom)) {
      error = "there is no memory to load it";
      return nullptr;
    }
    void* const opened = dlopen((library_folder() / "liblamella_onednn.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const entry = opened ? dlsym(opened, "lamella_onednn") : nullptr;
    if (entry) {
      functions = reinterpret_cast<const Onednn* (*)()>(entry)();
    } else {
      error = dlerror();
      is_absent = !lacked_memory(error);
    }
    return functions;
  }
};

Module& module() {
  static Module one;
  return one;
}

}  // namespace

const Onednn* onednn() {
  Module& one = module();
  const Onednn* const found = one.functions.load(std::memory_order_acquire);
  return found || one.is_absent.load(std::memory_order_relaxed) ? found : one.load();
}

std::string describe_onednn() {
  if (const Onednn* const found = onednn()) return found->version();
  const std::lock_guard lock(module().mutex);
  return "not found: " + module().error;
}

}  // namespace lamella::detail

#else

namespace lamella::detail {

const Onednn* onednn() { return nullptr; }

std::string describe_onednn() { return "left out of this build"; }

}  // namespace lamella::detail

#endif
