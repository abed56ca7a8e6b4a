#include "ops/linalg/openblas.h"

#ifdef LAMELLA_WITH_LAPACK

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "engine/core/error.h"
#include "engine/core/memory_limit.h"
#include "ops/runtime/library_folder.h"

namespace lamella::linalg {
namespace {

/// File names of the library: Debian's, and that of the wheels on PyPI.
constexpr const char* kSystemName = "libopenblas.so.0";
constexpr const char* kPackagedName = "libscipy_openblas.so";

/// Returns the number of threads that OpenBLAS starts with.
std::size_t first_threads() {
  for (const char* name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* const text = std::getenv(name);
    const long count = text ? std::strtol(text, nullptr, 10) : 0;
    if (count > 0) return static_cast<std::size_t>(std::min(count, 128L));
  }
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? static_cast<std::size_t>(CPU_COUNT(&allowed)) : 1;
}

/// Throws OutOfMemoryError if OpenBLAS would not fit: it maps a buffer for each of its threads when it is loaded, and
/// retries forever if the system refuses.
void require_room_for_openblas() {
  constexpr std::size_t kCode = std::size_t{64} << 20;
  constexpr std::size_t kBuffer = std::size_t{129} << 20;
  require_room(kCode + first_threads() * kBuffer, "linalg", "OpenBLAS, which has a buffer for each of its threads");
}

struct OpenBlas {
  std::mutex mutex;
  void* library = nullptr;
  std::string prefix;
  std::string error;  // the reason if the library was not found

  /// Returns the address of a function, or null. A library that was not found, or did not fit, is looked for again.
  void* function(const char* name) {
    const std::lock_guard lock(mutex);
    if (!library) load();
    return library ? dlsym(library, (prefix + name).c_str()) : nullptr;
  }

 private:
  void load() {
    require_room_for_openblas();
    const std::filesystem::path folder = detail::library_folder();
    open(folder / kPackagedName, "scipy_");
    open(kSystemName, "");
    open(folder.parent_path() / "scipy_openblas32" / "lib" / kPackagedName, "scipy_");
  }
  void open(const std::filesystem::path& path, const char* with_prefix) {
    if (library || (path.has_parent_path() && !std::filesystem::exists(path))) return;
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      prefix = with_prefix;
    } else {
      error = dlerror();
    }
  }
};

OpenBlas& openblas() {
  static OpenBlas one;
  return one;
}

}  // namespace

void* find_openblas_function(const char* name) { return openblas().function(name); }

void* openblas_function(const char* name) {
  void* const found = find_openblas_function(name);
  if (found) return found;
  OpenBlas& from = openblas();
  const std::lock_guard lock(from.mutex);
  if (from.library) fail<NotImplementedError>("[linalg] the OpenBLAS of this machine lacks the function ", name);
  if (detail::lacked_memory(from.error))
    fail<OutOfMemoryError>("[linalg] OpenBLAS does not fit into the memory that is left: ", from.error);
  fail<NotImplementedError>("[linalg] OpenBLAS, whose LAPACK factors matrices, was not found: ",
                            "install Debian's libopenblas0-openmp, or scipy-openblas32 by pip (", from.error, ")");
}

std::string describe_openblas() try {
  const auto describe = reinterpret_cast<const char* (*)()>(find_openblas_function("openblas_get_config"));
  if (describe) return describe();
  OpenBlas& from = openblas();
  const std::lock_guard lock(from.mutex);
  return from.library ? "OpenBLAS" : "OpenBLAS not found: " + from.error;
} catch (const OutOfMemoryError& error) {
  return std::string("OpenBLAS not loaded: ") + error.what();
}

}  // namespace lamella::linalg

#else

namespace lamella::linalg {

std::string describe_openblas() { return "left out of this build"; }

}  // namespace lamella::linalg

#endif
