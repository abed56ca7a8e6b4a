#include "engine/registry/load.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/core/error.h"
#include "engine/registry/entry.h"
#include "engine/registry/pending.h"
#include "engine/registry/registry.h"
#include "engine/registry/static_library.h"

namespace lamella::registry {
namespace {

struct Loaded {
  std::recursive_mutex mutex;  // recursive because a library may load another one
  std::vector<std::string> paths;
  /// Libraries whose registrations failed and that could not be unloaded.
  std::vector<std::pair<std::string, Failure>> stuck;
};
Loaded& loaded() {
  static auto* const state = new Loaded;
  return *state;
}

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

/// Throws RuntimeError if a library's file is shorter than its header says: mapping the rest would end the process.
template <class Read>
void check_length(const std::string& path, const Elf64_Ehdr& header, std::uint64_t size, const Read& read) {
  std::uint64_t wanted = header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  for (std::uint64_t i = 0; i < header.e_phnum && header.e_phentsize == sizeof(Elf64_Phdr); ++i) {
    Elf64_Phdr each{};
    if (!read(header.e_phoff + i * sizeof each, &each, sizeof each)) break;
    if (each.p_type == PT_LOAD) wanted = std::max(wanted, each.p_offset + each.p_filesz);
  }
  if (wanted > size) {
    fail<RuntimeError>("[load_library] ", path, " is cut off: it has ", size, " bytes, and its header speaks of ",
                       wanted, "; build it again, or copy it again");
  }
}

/// Reads the stamps of a library's translation units from its file. A file that is not an ELF file for this kind of
/// machine is left to dlopen(), which reports it.
void check_stamps(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](std::uint64_t at, void* into, std::size_t bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes)));
  };
  Elf64_Ehdr header{};
  if (!read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return;
  }
  if (header.e_machine != kMachine) {
    fail<RuntimeError>("[load_library] ", path, " was built for another kind of processor (ELF machine ",
                       header.e_machine, ", here it is ", kMachine, "): build it for this one");
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    return;
  }
  file.seekg(0, std::ios::end);
  check_length(path, header, static_cast<std::uint64_t>(file.tellg()), read);
  const auto section = [&](std::size_t i, Elf64_Shdr& into) {
    return read(header.e_shoff + i * sizeof(Elf64_Shdr), &into, sizeof into);
  };
  Elf64_Shdr names{};
  if (!section(header.e_shstrndx, names)) return;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr each{};
    char name[sizeof LAMELLA_ABI_SECTION] = {};
    if (!section(i, each) || !read(names.sh_offset + each.sh_name, name, sizeof name)) continue;
    if (std::memcmp(name, LAMELLA_ABI_SECTION, sizeof name) != 0) continue;
    for (std::uint64_t at = 0; at + sizeof(AbiStamp) <= each.sh_size; at += sizeof(AbiStamp)) {
      AbiStamp stamp{};
      if (!read(each.sh_offset + at, &stamp, sizeof stamp)) return;
      if (std::memcmp(stamp.magic, abi_stamp.magic, sizeof stamp.magic) != 0) return;
      check_stamp(path, stamp);
    }
  }
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) fail<RuntimeError>("[load_library] ", path, ": ", std::strerror(errno));
  return resolved.get();
}

/// Returns advice to the library's author for a message of dlopen().
std::string advice(std::string_view message) {
  if (message.find("undefined symbol") != std::string_view::npos) {
    return "; link it with Lamella (python -m lamella.sysconfig --ldflags), and build it with the installed version";
  }
  if (message.find("cannot open shared object file") != std::string_view::npos) {
    return "; a library that it needs is not found: add its folder to the library's rpath or to LD_LIBRARY_PATH";
  }
  return "";
}

void roll_back(const Loading& scope) {
  for (Registration* registration : scope.registrations) registration->library.reset();
}

/// Throws RuntimeError if a kernel is for an operator that is not defined.
void check_dangling(const Loading& scope) {
  const std::lock_guard lock(the_registry().mutex);
  for (const auto& [name, entry] : the_registry().entries) {
    if (entry->plan.load()) continue;
    for (const auto& all : entry->implementations) {
      for (const auto& each : all) {
        const bool ours = std::ranges::any_of(scope.registrations, [&](const Registration* registration) {
          return registration->library && registration->library->id() == each.library;
        });
        if (!ours) continue;
        fail<RuntimeError>("[", entry->full_name, "] ", each.record->place.str(), " gives it a kernel for ",
                           lamella::name(each.record->key),
                           ", and nobody defines it; define it with def(\"name(...) -> ...\") in a LAMELLA_LIBRARY");
      }
    }
  }
}

}  // namespace

std::string load_library(const std::string& path) {
  const std::string real = real_path(path);
  const std::lock_guard lock(loaded().mutex);
  if (std::ranges::find(loaded().paths, real) != loaded().paths.end()) return real;
  for (const auto& [stuck, failure] : loaded().stuck) {
    if (stuck != real) continue;
    failure.raise(failure.what +
                  " (so it was when the library was loaded first; it cannot be unloaded: start the program anew)");
  }
  check_stamps(real);

  Loading scope;
  Loading* const outer = set_loading(&scope);
  void* const library = ::dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
  set_loading(outer);
  if (!library) {
    const char* const message = ::dlerror();
    const std::string text = message ? message : "it cannot be loaded";
    roll_back(scope);
    fail<RuntimeError>("[load_library] ", text, advice(text));
  }
  std::optional<Failure> failure;
  try {
    if (scope.error) std::rethrow_exception(scope.error);
    check_dangling(scope);
  } catch (...) {
    failure = current_failure();
  }
  if (failure) {
    roll_back(scope);
    scope.error = nullptr;
    ::dlclose(library);
    // Unique symbols (of g++, without -fno-gnu-unique) keep the library loaded nevertheless, and its constructors will
    // not run again.
    if (void* const kept = ::dlopen(real.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      ::dlclose(kept);
      loaded().stuck.emplace_back(real, *failure);
    }
    failure->raise(failure->what);
  }
  loaded().paths.push_back(real);
  if (scope.registrations.empty()) note_silent_library(real);
  return real;
}

std::vector<std::string> loaded_libraries() {
  const std::lock_guard lock(loaded().mutex);
  return loaded().paths;
}

}  // namespace lamella::registry
