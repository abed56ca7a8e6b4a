#include "ops/runtime/onednn.h"

#ifdef LAMELLA_WITH_ONEDNN

#include <dlfcn.h>

#include "ops/runtime/library_folder.h"

namespace lamella::detail {
namespace {

struct Module {
  const Onednn* functions = nullptr;
  std::string error;

  Module() {
    void* const opened = dlopen((library_folder() / "liblamella_onednn.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened) {
      using Entry = const Onednn* (*)();
      if (const auto entry = reinterpret_cast<Entry>(dlsym(opened, "lamella_onednn"))) functions = entry();
    }
    if (!functions) error = dlerror();
  }
};

const Module& module() {
  static const Module loaded;
  return loaded;
}

}  // namespace

const Onednn* onednn() { return module().functions; }

std::string describe_onednn() { return onednn() ? onednn()->version() : "not found: " + module().error; }

}  // namespace lamella::detail

#else

namespace lamella::detail {

const Onednn* onednn() { return nullptr; }

std::string describe_onednn() { return "left out of this build"; }

}  // namespace lamella::detail

#endif
