#include "engine/core/cpp_frames.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "engine/core/host.h"

// Names come from dladdr, which sees exported functions only, and from the symbol table of the program or library,
// which lists all others unless it was stripped. Line numbers would need a DWARF reader; addr2line converts the
// reported offset.

namespace lamella::autograd {
namespace {

constexpr std::size_t kMaxFrames = 64;
constexpr std::size_t kMaxName = 160;

/// The functions in a file's symbol table, by their address in the file.
class SymbolTable {
 public:
  explicit SymbolTable(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status{};
    if (::fstat(file, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (data != MAP_FAILED) {
        read(static_cast<const char*>(data), size);
        ::munmap(data, size);
      }
    }
    ::close(file);
  }

  /// Returns the mangled name of the function at `address`, or an empty string.
  std::string find(std::uintptr_t address) const {
    auto next = functions_.upper_bound(address);
    if (next == functions_.begin()) return {};
    const auto& [begin, function] = *--next;
    return address - begin < function.size ? function.name : std::string();
  }

 private:
  struct Function {
    std::uintptr_t size;
    std::string name;
  };

  void read(const char* data, std::size_t size) {
    ElfW(Ehdr) header;
    if (size < sizeof(header)) return;
    std::memcpy(&header, data, sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr))) return;
    if (header.e_shoff > size || header.e_shnum > (size - header.e_shoff) / sizeof(ElfW(Shdr))) return;
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    std::memcpy(sections.data(), data + header.e_shoff, sections.size() * sizeof(ElfW(Shdr)));
    const auto lies_within = [&](const ElfW(Shdr) & s) {
      return s.sh_offset <= size && s.sh_size <= size - s.sh_offset;
    };
    for (const ElfW(Shdr) & section : sections) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size() || !lies_within(section)) continue;
      const ElfW(Shdr)& strings = sections[section.sh_link];
      if (!lies_within(strings) || strings.sh_size == 0 || data[strings.sh_offset + strings.sh_size - 1] != 0) continue;
      for (std::size_t i = 0; i < section.sh_size / sizeof(ElfW(Sym)); ++i) {
        ElfW(Sym) symbol;
        std::memcpy(&symbol, data + section.sh_offset + i * sizeof(symbol), sizeof(symbol));
        if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_size == 0 || symbol.st_name >= strings.sh_size) continue;
        functions_[symbol.st_value] = {symbol.st_size, data + strings.sh_offset + symbol.st_name};
      }
    }
  }

  std::map<std::uintptr_t, Function> functions_;
};

/// Read once per file, because a table is large.
const SymbolTable& symbols_of(const std::string& path) {
  static std::mutex mutex;
  static auto* const tables = new std::map<std::string, std::unique_ptr<SymbolTable>>;
  const std::lock_guard lock(mutex);
  auto& table = (*tables)[path];
  if (!table) table = std::make_unique<SymbolTable>(path.c_str());
  return *table;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  if (result.size() > kMaxName) {
    result.resize(kMaxName - 3);
    result.append("...");
  }
  return result;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

const void* module_of(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fbase : nullptr;
}

bool is_system(std::string_view object) {
  constexpr std::array<std::string_view, 9> kSystem{"libc.so",   "libm.so",    "ld-linux",   "libpthread", "libstdc++",
                                                    "libgcc_s.", "libgomp.so", "linux-vdso", "libpython"};
  const auto begins = [&](std::string_view prefix) { return object.starts_with(prefix); };
  return std::ranges::any_of(kSystem, begins) || (host_hooks().stack && begins("python"));
}

/// True if a function is part of the library but compiled into the user's program.
bool is_of_library(std::string_view function) {
  constexpr std::array<std::string_view, 4> kParts{"lamella::Function<",
                                                   "lamella::autograd::", "lamella::python::", "lamella::detail::"};
  // The name may follow a result type, as in a template's instance.
  return std::ranges::any_of(kParts, [&](std::string_view part) {
    const std::size_t at = function.find(part);
    return at == 0 || (at != std::string_view::npos && function[at - 1] == ' ' &&
                       function.substr(0, at).find('(') == std::string_view::npos);
  });
}

}  // namespace

std::vector<void*> capture_frames() {
  std::array<void*, kMaxFrames> addresses;
  const int count = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  return std::vector<void*>(addresses.begin(), addresses.begin() + count);
}

std::vector<CppFrame> user_frames(std::span<void* const> addresses, std::size_t limit) {
  const void* const library = module_of(reinterpret_cast<const void*>(&capture_frames));
  const void* const host = module_of(reinterpret_cast<const void*>(host_hooks().stack));
  std::vector<CppFrame> frames;
  for (void* const address : addresses) {
    if (frames.size() == limit) break;
    // A return address may be the first address of the next function.
    const auto call = reinterpret_cast<std::uintptr_t>(address) - 1;
    Dl_info info;
    link_map* module = nullptr;
    if (!dladdr1(reinterpret_cast<void*>(call), &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP)) continue;
    if (!info.dli_fname || !module) continue;
    const std::string_view object = base_name(info.dli_fname);
    if (info.dli_fbase == library || info.dli_fbase == host || is_system(object)) continue;
    // Address within the file; in a program that is not position-independent these do not begin at 0.
    const std::uintptr_t offset = call - module->l_addr;
    // The exported symbol may belong to a neighbor of a hidden function, so the table takes precedence.
    std::string name = symbols_of(info.dli_fname).find(offset);
    if (name.empty() && info.dli_sname) name = info.dli_sname;
    // Sanitizers replace some system functions by their own.
    if (name == "_start" || name == "backtrace" || name.starts_with("__interceptor_")) continue;
    std::string function = name.empty() ? "?" : demangled(name);
    if (is_of_library(function)) continue;
    frames.push_back({std::move(function), std::string(object), offset});
  }
  return frames;
}

}  // namespace lamella::autograd
