#include "ops/fusion/native/compiler.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/runtime/own_file.h"
#include "ops/fusion/native/process.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella::fusion::native {
namespace {

using Kind = Problem::Kind;

std::string first_line(const std::string& text) { return text.substr(0, std::min<std::size_t>(text.find('\n'), 300)); }

/// Loads the library and returns the kernel of that name; null, and a reason, if there is none. Libraries stay loaded.
Kernel load(const std::string& path, const std::string& name, std::string& reason) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const kernel = library ? dlsym(library, ("lamella_" + name).c_str()) : nullptr;
  if (!kernel) {
    const char* const error = dlerror();
    reason = error ? error : "it has no kernel";
  }
  return reinterpret_cast<Kernel>(kernel);
}

/// True if a library's segments and its table of sections, which comes last, lie within the file: the loader would end
/// the process where they do not.
bool is_whole_library(const std::string& file) {
  ElfW(Ehdr) header;
  if (file.size() < sizeof header) return false;
  std::memcpy(&header, file.data(), sizeof header);
  const auto holds = [&](std::uint64_t begin, std::uint64_t size) {
    return begin <= file.size() && size <= file.size() - begin;
  };
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN) return false;
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || !holds(header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr))) ||
      !holds(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize))
    return false;
  for (std::size_t k = 0; k < header.e_phnum; ++k) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, file.data() + header.e_phoff + k * sizeof segment, sizeof segment);
    if (!holds(segment.p_offset, segment.p_filesz)) return false;
  }
  return true;
}

/// Arithmetic as in the kernels (cmake/kernels.cmake), and nothing that wants a library.
std::vector<std::string> flags() {
  std::vector<std::string> all{"-x",
                               "c++",
                               "-std=gnu++17",
                               "-O2",
                               "-w",
                               "-fPIC",
                               "-shared",
                               "-nostdlib",
                               "-s",
                               "-fwrapv",
                               "-fno-math-errno",
                               "-fno-trapping-math",
                               "-fno-exceptions",
                               "-ffp-contract=off"};
  const std::string isa(cpu::instruction_set());
  if (isa == "aarch64") all.emplace_back("-march=armv8-a");
  if (isa.starts_with("x86-64")) all.push_back("-march=" + isa);
  if (isa == "x86-64-v4") all.emplace_back("-mprefer-vector-width=512");
  return all;
}

}  // namespace

std::chrono::milliseconds Compiler::limit() const {
  return std::chrono::milliseconds(static_cast<std::int64_t>(settings_.seconds * 1000));
}

std::optional<Problem> Compiler::ask(const std::atomic<bool>& stop) {
  if (!identity_.empty()) return {};
  std::vector<std::string> names{"c++", "g++", "clang++"};
  if (!settings_.compiler.empty()) names = {settings_.compiler};
  for (const std::string& name : names) {
    if (const std::optional<std::string> found = find_program(name)) {
      path_ = *found;
      break;
    }
  }
  if (path_.empty()) {
    return Problem{Kind::NoCompiler, settings_.compiler.empty() ? "no C++ compiler is found (c++, g++ or clang++)"
                                                                : "there is no compiler " + settings_.compiler};
  }
  struct stat found{};
  if (stat(path_.c_str(), &found) != 0) return Problem{Kind::NoCompiler, "there is no compiler " + path_};
  const Outcome version = run_program({path_, "--version"}, "", limit(), stop);
  if (version.kind == Outcome::Kind::Late) return Problem{Kind::Late, path_ + " --version takes too long"};
  if (version.kind != Outcome::Kind::Done)
    return Problem{Kind::Failed, path_ + " --version fails: " + first_line(version.output)};
  // A compiler that was replaced by one of the same version may still be another one.
  identity_ =
      path_ + "\n" + std::to_string(found.st_size) + " " + std::to_string(found.st_mtime) + "\n" + version.output;
  return {};
}

std::vector<std::string> Compiler::command() const {
  std::vector<std::string> all{path_};
  std::ranges::move(flags(), std::back_inserter(all));
  return all;
}

Compiler::Result Compiler::run(const std::vector<std::shared_ptr<Code>>& codes, const std::atomic<bool>& stop) {
  Result result;
  const auto give_up = [&](Problem problem) {
    result.problems.push_back(std::move(problem));
    result.gave_up = true;
    return result;
  };
  if (std::optional<Problem> problem = ask(stop)) return give_up(std::move(*problem));
  if (const std::string reason = cache_.prepare(); !reason.empty())
    return give_up({Kind::Folder, "the folder of compiled programs: " + reason});
  std::string common = identity_;
  for (const std::string& flag : flags()) common += flag + " ";
  common += "\n" + prelude(cpu_kernels().vectors.bytes);
  std::vector<Unit> missing;
  for (const std::shared_ptr<Code>& code : codes) {
    Unit unit{code, {}, common + code->body};
    unit.name = hash_of(unit.key);
    FileCache::Found found = cache_.find(unit.name, unit.key);
    if (found == FileCache::Found::Whole) {
      std::string reason;
      const Kernel kernel = load(cache_.path(unit.name), unit.name, reason);
      if (!kernel) found = FileCache::Found::Damaged;
      if (kernel) ++result.loaded;
      code->kernel.store(kernel, std::memory_order_release);
    }
    if (found == FileCache::Found::Damaged) {
      result.problems.push_back(
          {Kind::Damaged, cache_.path(unit.name) + " is damaged, or others may write to it; it is made anew"});
      cache_.remove(unit.name);
    }
    if (found != FileCache::Found::Whole) missing.push_back(std::move(unit));
  }
  if (missing.empty()) return result;
  if (std::optional<Problem> problem = compile(missing, result, stop)) return give_up(std::move(*problem));
  return result;
}

std::optional<Problem> Compiler::compile(const std::vector<Unit>& units, Result& result,
                                         const std::atomic<bool>& stop) {
  std::string source = prelude(cpu_kernels().vectors.bytes);
  for (const Unit& unit : units) source += "extern \"C\" void lamella_" + unit.name + unit.code->body;
  const std::optional<std::string> output = cache_.temporary();
  if (!output) return Problem{Kind::Folder, "the folder of compiled programs: nothing can be written to " + folder()};
  struct Removal {
    const std::string& path;
    ~Removal() { unlink(path.c_str()); }
  } const removal{*output};
  std::vector<std::string> line = command();
  line.insert(line.end(), {"-o", *output, "-"});
  const Outcome outcome = run_program(line, source, limit(), stop);
  switch (outcome.kind) {
    case Outcome::Kind::Late:
      return Problem{Kind::Late, path_ + " took more than " + std::to_string(limit().count()) + " ms"};
    case Outcome::Kind::Failed:
    case Outcome::Kind::NotStarted:
      return Problem{Kind::Failed, path_ + " failed: " + first_line(outcome.output)};
    case Outcome::Kind::Stopped:
      return {};
    case Outcome::Kind::Done:
      break;
  }
  // A linker makes the file anew, for all whom the user's mask lets.
  if (chmod(output->c_str(), S_IRUSR | S_IWUSR) != 0)
    return Problem{Kind::NotLoaded, path_ + " left nothing that can be loaded"};
  const std::optional<std::string> compiled = read_own_file(*output);
  if (!compiled || !is_whole_library(*compiled))
    return Problem{Kind::NotLoaded, path_ + " left nothing that can be loaded"};
  std::vector<Kernel> kernels;
  for (const Unit& unit : units) {
    std::string reason;
    kernels.push_back(load(*output, unit.name, reason));
    if (!kernels.back()) return Problem{Kind::NotLoaded, "what " + path_ + " made cannot be loaded: " + reason};
  }
  bool kept = true;
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].code->kernel.store(kernels[i], std::memory_order_release);
    ++result.compiled;
    kept = kept && cache_.add(units[i].name, units[i].key, *compiled);
  }
  if (!kept) result.problems.push_back({Kind::Folder, "compiled programs cannot be kept in " + folder()});
  return {};
}

}  // namespace lamella::fusion::native
