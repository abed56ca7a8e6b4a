#include "engine/runtime/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "engine/core/error.h"

namespace lamella {

SharedLibrary::SharedLibrary(const Place& place) : needed_(place.needed) {
  const char* const named = place.variable ? std::getenv(place.variable) : nullptr;
  std::string reasons;
  for (const std::string& file : named ? std::vector<std::string>{named} : place.files) {
    if (file.empty()) continue;
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_) {
      file_ = file;
      return;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (named) fail<RuntimeError>(needed_, ", and the file that ", place.variable, " names does not load: ", reasons);
  fail<RuntimeError>(needed_, ", which does not load: ", reasons);
}

void* SharedLibrary::address_of(const char* name) const {
  void* const found = dlsym(library_, name);
  if (!found) fail<RuntimeError>(needed_, ", and ", file_, " is of another version: it has no ", name);
  return found;
}

}  // namespace lamella
