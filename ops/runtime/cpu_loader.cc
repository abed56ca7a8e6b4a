#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/memory_limit.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/runtime/library_folder.h"

namespace lamella::detail {

const cpu::KernelTable* loaded_cpu_kernels = nullptr;

namespace {

struct Isa {
  const char* name;
  bool supported;
};

/// Ordered from the newest instruction set to the oldest.
std::vector<Isa> known_isas() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return {{"x86-64-v4", __builtin_cpu_supports("x86-64-v4") != 0},
          {"x86-64-v3", __builtin_cpu_supports("x86-64-v3") != 0},
          {"x86-64-v2", __builtin_cpu_supports("x86-64-v2") != 0}};
#elif defined(__aarch64__)
  return {{"aarch64", true}};
#else
  return {{"generic", true}};
#endif
}

const cpu::KernelTable* open_module(const std::filesystem::path& path) {
  // The error names the operator whose call loads the module.
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  require_room((unknown ? 0 : bytes) + (std::size_t{4} << 20), "allocate", "the module of its kernels");
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) fail<RuntimeError>("[kernels] cannot load ", path.string(), ": ", dlerror());
  using Entry = const cpu::KernelTable* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "lamella_cpu_kernels"));
  if (!entry) fail<RuntimeError>("[kernels] ", path.string(), " is not a kernel module");
  return entry();
}

}  // namespace

const cpu::KernelTable* load_cpu_kernels() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (loaded_cpu_kernels) return loaded_cpu_kernels;
  const char* forced = std::getenv("LAMELLA_CPU_ISA");
  const std::filesystem::path folder = library_folder();
  std::string known;
  for (const Isa& isa : known_isas()) {
    known += std::string(known.empty() ? "" : ", ") + isa.name;
    const std::filesystem::path path = folder / ("liblamella_cpu_" + std::string(isa.name) + ".so");
    if (forced && *forced) {
      if (std::string_view(forced) != isa.name) continue;
      if (!isa.supported)
        fail<RuntimeError>("[kernels] LAMELLA_CPU_ISA asks for ", forced, ", which this processor does not have");
    } else if (!isa.supported || !std::filesystem::exists(path)) {
      continue;
    }
    const cpu::KernelTable* table = open_module(path);
    __atomic_store_n(&loaded_cpu_kernels, table, __ATOMIC_RELEASE);
    return table;
  }
  if (forced && *forced) fail<RuntimeError>("[kernels] LAMELLA_CPU_ISA is \"", forced, "\"; known here: ", known);
  fail<RuntimeError>("[kernels] no kernel module in ", folder.string(), " runs on this processor (looked for ", known,
                     ")");
}

}  // namespace lamella::detail
