#include "ops/runtime/library_folder.h"

#include <dlfcn.h>

namespace lamella::detail {
namespace {

/// A symbol for dladdr() that is certain to lie in this library: an exported variable may be copied into the program
/// that uses it.
const char anchor = 0;

}  // namespace

std::filesystem::path library_folder() {
  Dl_info info{};
  if (!dladdr(&anchor, &info) || !info.dli_fname) return ".";
  return std::filesystem::absolute(info.dli_fname).parent_path();
}

bool lacked_memory(std::string_view error) {
  const auto tells = [&](std::string_view text) { return error.find(text) != std::string_view::npos; };
  return tells("annot allocate memory") || tells("failed to map segment") || tells("cannot create shared object");
}

}  // namespace lamella::detail
