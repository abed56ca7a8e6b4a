#include "engine/runtime/cuda/nvrtc.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/shared_library.h"

namespace lamella::cuda {
namespace {

// The part of NVRTC's C interface in use, declared here so that builds need none of its files. It is the same in every
// version from 11.2 on.

enum class Result : int { Success = 0, Compilation = 6 };
struct Program;  // NVRTC's own

struct Api {
  const char* (*error_string)(Result result);
  Result (*version)(int* major, int* minor);
  Result (*architecture_count)(int* count);
  Result (*architectures)(int* to);
  Result (*create)(Program** program, const char* source, const char* name, int headers, const char* const* texts,
                   const char* const* names);
  Result (*destroy)(Program** program);
  Result (*add_name)(Program* program, const char* expression);
  Result (*compile)(Program* program, int count, const char* const* options);
  Result (*lowered_name)(Program* program, const char* expression, const char** name);
  Result (*log_size)(Program* program, std::size_t* bytes);
  Result (*log)(Program* program, char* to);
  Result (*binary_size)(Program* program, std::size_t* bytes);
  Result (*binary)(Program* program, char* to);
  Result (*ptx_size)(Program* program, std::size_t* bytes);
  Result (*ptx)(Program* program, char* to);
};

Api load() {
  const int major = CUDART_VERSION / 1000;
  const std::string name = "libnvrtc.so." + (major == 11 ? "11.2" : std::to_string(major));
  const SharedLibrary library({.needed = str("[cuda.kernel] kernels need NVRTC, of CUDA ", major),
                               .files = {name, "libnvrtc.so"},
                               .variable = "LAMELLA_NVRTC_LIBRARY"});
  Api found{};
  library.find("nvrtcGetErrorString", found.error_string);
  library.find("nvrtcVersion", found.version);
  library.find("nvrtcGetNumSupportedArchs", found.architecture_count);
  library.find("nvrtcGetSupportedArchs", found.architectures);
  library.find("nvrtcCreateProgram", found.create);
  library.find("nvrtcDestroyProgram", found.destroy);
  library.find("nvrtcAddNameExpression", found.add_name);
  library.find("nvrtcCompileProgram", found.compile);
  library.find("nvrtcGetLoweredName", found.lowered_name);
  library.find("nvrtcGetProgramLogSize", found.log_size);
  library.find("nvrtcGetProgramLog", found.log);
  library.find("nvrtcGetCUBINSize", found.binary_size);
  library.find("nvrtcGetCUBIN", found.binary);
  library.find("nvrtcGetPTXSize", found.ptx_size);
  library.find("nvrtcGetPTX", found.ptx);
  return found;
}

const Api& api() {
  static const Api functions = load();
  return functions;
}

void check(Result result, const std::string& label) {
  if (result != Result::Success) fail<RuntimeError>("[", label, "] NVRTC: ", api().error_string(result));
}

/// Returns a text of NVRTC's by the function that tells its size, with the zero at its end, and the one that copies it.
std::string text_of(Program* program, Result (*size)(Program*, std::size_t*), Result (*copy)(Program*, char*),
                    const std::string& label) {
  std::size_t bytes = 0;
  check(size(program, &bytes), label);
  std::string text(bytes, '\0');
  if (bytes > 0) check(copy(program, text.data()), label);
  return text;
}

class OwnedProgram {
 public:
  explicit OwnedProgram(const KernelSource& source) {
    check(api().create(&program_, source.text.c_str(), "source.cu", 0, nullptr, nullptr), source.label);
  }
  ~OwnedProgram() { static_cast<void>(api().destroy(&program_)); }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  Program* get() const { return program_; }

 private:
  Program* program_ = nullptr;
};

bool has_option(const KernelSource& source, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(source.options, [&](const std::string& option) {
    return std::ranges::any_of(names, [&](std::string_view name) { return option.starts_with(name); });
  });
}

/// Returns the option for machine code of a device, or, where NVRTC is older than the device, for code in between.
std::string architecture_option(int capability, const std::string& label) {
  int count = 0;
  check(api().architecture_count(&count), label);
  std::vector<int> known(static_cast<std::size_t>(count));
  check(api().architectures(known.data()), label);
  int best = 0;
  for (const int one : known) {
    if (one <= capability) best = std::max(best, one);
  }
  if (best == 0) fail<RuntimeError>("[", label, "] this NVRTC knows no architecture as old as sm_", capability);
  return str("--gpu-architecture=", best == capability ? "sm_" : "compute_", best);
}

std::vector<std::string> options_for(int capability, const KernelSource& source) {
  std::vector<std::string> all = source.options;
  if (!has_option(source, {"--gpu-architecture", "-arch"}))
    all.push_back(architecture_option(capability, source.label));
  if (!has_option(source, {"--std", "-std"})) all.emplace_back("--std=c++17");
  return all;
}

}  // namespace

std::string compiler_identity(int capability, const KernelSource& source) {
  int major = 0;
  int minor = 0;
  check(api().version(&major, &minor), source.label);
  std::string text = str("NVRTC ", major, ".", minor);
  for (const std::string& option : options_for(capability, source)) text += "\n" + option;
  return text;
}

KernelImage compile(int capability, const KernelSource& source) {
  const OwnedProgram owned(source);
  Program* const program = owned.get();
  check(api().add_name(program, source.name.c_str()), source.label);
  const std::vector<std::string> options = options_for(capability, source);
  std::vector<const char*> addresses;
  for (const std::string& option : options) addresses.push_back(option.c_str());
  const Result result = api().compile(program, static_cast<int>(addresses.size()), addresses.data());
  if (result != Result::Success) {
    std::string log = text_of(program, api().log_size, api().log, source.label);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    fail<RuntimeError>("[", source.label, "] NVRTC: ", api().error_string(result), log.empty() ? "" : "\n", log);
  }
  const char* symbol = nullptr;
  check(api().lowered_name(program, source.name.c_str(), &symbol), source.label);
  KernelImage image{.symbol = symbol, .bytes = text_of(program, api().binary_size, api().binary, source.label)};
  if (image.bytes.empty()) image.bytes = text_of(program, api().ptx_size, api().ptx, source.label);
  return image;
}

}  // namespace lamella::cuda
