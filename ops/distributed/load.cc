#include "ops/distributed/load.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "engine/core/error.h"
#include "engine/distributed/device_backend.h"
#include "ops/runtime/library_folder.h"

namespace lamella::distributed {

BackendFactory load_backend(const std::string& name) {
  if (const BackendFactory found = find_backend(name)) return found;
  const bool is_word = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  const std::filesystem::path path = lamella::detail::library_folder() / ("liblamella_" + name + ".so");
  if (!is_word || !std::filesystem::exists(path)) {
    fail<RuntimeError>("[distributed] this build has no backend '", name, "' (looked for ", path.string(), ")");
  }
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) fail<RuntimeError>("[distributed] the backend '", name, "' does not load: ", dlerror());
  const auto entry = reinterpret_cast<BackendFactory (*)()>(dlsym(module, "lamella_distributed_backend"));
  if (!entry) fail<RuntimeError>("[distributed] ", path.string(), " is not a module of a backend");
  register_backend(name, entry());
  return entry();
}

void load_device_library(const std::string& name, const std::string& file) {
  const DeviceLibrary* const library = find_device_library(name);
  if (!library) {
    fail<RuntimeError>("[distributed] this build has no backend '", name, "' (it was built without CUDA)");
  }
  try {
    library->load(file);
  } catch (const std::exception& error) {
    fail<RuntimeError>("[distributed] the backend '", name, "' does not load: ", error.what());
  }
}

}  // namespace lamella::distributed
