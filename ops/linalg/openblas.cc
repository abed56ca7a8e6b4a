#include "ops/linalg/openblas.h"

#ifdef LAMELLA_WITH_LAPACK

#include <dlfcn.h>

#include "engine/core/error.h"
#include "ops/runtime/library_folder.h"

namespace lamella::linalg {
namespace {

/// Debian's name of the library, and that of the wheels on PyPI.
constexpr const char* kSystemName = "libopenblas.so.0";
constexpr const char* kPackagedName = "libscipy_openblas.so";

struct OpenBlas {
  void* library = nullptr;
  std::string prefix;
  std::string error;  // where it was not found

  OpenBlas() {
    const std::filesystem::path folder = detail::library_folder();
    open(folder / kPackagedName, "scipy_");
    open(kSystemName, "");
    open(folder.parent_path() / "scipy_openblas32" / "lib" / kPackagedName, "scipy_");
  }

  void* function(const char* name) const { return library ? dlsym(library, (prefix + name).c_str()) : nullptr; }

 private:
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

const OpenBlas& openblas() {
  static const OpenBlas loaded;
  return loaded;
}

}  // namespace

void* openblas_function(const char* name) {
  const OpenBlas& from = openblas();
  if (!from.library) {
    fail<NotImplementedError>("[linalg] matrices are factored by LAPACK, and OpenBLAS, which has it, was not found: ",
                              "install Debian's libopenblas0-openmp, or scipy-openblas32 by pip (", from.error, ")");
  }
  void* const found = from.function(name);
  if (!found) fail<NotImplementedError>("[linalg] the OpenBLAS of this machine has no ", name);
  return found;
}

std::string describe_openblas() {
  const OpenBlas& from = openblas();
  if (!from.library) return "OpenBLAS not found: " + from.error;
  const auto describe = reinterpret_cast<const char* (*)()>(from.function("openblas_get_config"));
  return describe ? describe() : "OpenBLAS";
}

}  // namespace lamella::linalg

#else

namespace lamella::linalg {

std::string describe_openblas() { return "left out of this build"; }

}  // namespace lamella::linalg

#endif
