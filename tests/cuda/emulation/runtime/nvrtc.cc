#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cuda/emulation/runtime/image.h"

// NVRTC: the functions that Lamella calls. emulating-nvcc compiles the source into a shared library, in which each
// kernel that was asked for by name has a function that launches it.

extern char** environ;

namespace {

enum Result : int { kSuccess = 0, kInvalidInput = 3, kInvalidOption = 5, kCompilation = 6, kNoName = 10 };

struct Program {
  std::string source;
  std::string name;
  std::vector<std::string> expressions;
  std::vector<std::string> symbols;
  std::string log;
  std::string image;
};

/// A folder that is removed with what is in it.
class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "emulated-nvrtc-XXXXXX";
    if (mkdtemp(path.data())) path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the source with a function for each kernel.
std::string with_launchers(const Program& program) {
  std::string text = program.source + "\n";
  for (std::size_t i = 0; i < program.expressions.size(); ++i) {
    text += "extern \"C\" cudaError_t " + program.symbols[i] +
            "(dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream) {\n"
            "  if (shared > (48u << 10)) {  // the driver has refused more than the function was allowed\n"
            "    static_cast<void>(cudaFuncSetAttribute(&(" +
            program.expressions[i] +
            "), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));\n  }\n"
            "  return cudaLaunchKernel(&(" +
            program.expressions[i] + "), grid, block, arguments, shared, stream);\n}\n";
  }
  return text;
}

/// Adds the host compiler's form of an option of NVRTC; false for one that it does not know. Folders with CUDA's own
/// headers are left out, as the emulation's take their place.
bool add_option(std::vector<std::string>& command, std::string_view option) {
  constexpr std::string_view kWithoutForm[] = {
      "--gpu-architecture=", "-arch=",         "--std=",    "-std=",
      "--use_fast_math",     "-use_fast_math", "--fmad=",   "-fmad=",
      "-default-device",     "--restrict",     "-lineinfo", "--generate-line-info",
      "--maxrregcount="};
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {{"--define-macro=", "-D"},
                                                                      {"--undefine-macro=", "-U"},
                                                                      {"--include-path=", "-I"},
                                                                      {"-D", "-D"},
                                                                      {"-U", "-U"},
                                                                      {"-I", "-I"}};
  for (const std::string_view name : kWithoutForm) {
    if (option.starts_with(name)) return true;
  }
  for (const auto& [name, form] : kForms) {
    if (!option.starts_with(name)) continue;
    if (form == "-I" && std::filesystem::exists(std::filesystem::path(option.substr(name.size())) / "cuda_runtime.h"))
      return true;
    command.push_back(std::string(form) + std::string(option.substr(name.size())));
    return true;
  }
  return false;
}

/// Runs a command, whose output goes to a file; true if it succeeds.
bool run(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  const int error = posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (error == 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(Result result) {
  switch (result) {
    case kSuccess:
      return "NVRTC_SUCCESS";
    case kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation:
      return "NVRTC_ERROR_COMPILATION";
    case kNoName:
      return "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
  }
  return "NVRTC_ERROR unknown";
}

/// No version of CUDA's, so that kept machine code of a device is never taken for the emulation's.
Result nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return kSuccess;
}

Result nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return kSuccess;
}
Result nvrtcGetSupportedArchs(int* to) {
  to[0] = 80;
  to[1] = 90;
  return kSuccess;
}

Result nvrtcCreateProgram(Program** program, const char* source, const char* name, int, const char* const*,
                          const char* const*) {
  *program = new Program{source, name, {}, {}, {}, {}};
  return kSuccess;
}
Result nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

Result nvrtcAddNameExpression(Program* program, const char* expression) {
  program->symbols.push_back("emulated_kernel_" + std::to_string(program->expressions.size()));
  program->expressions.emplace_back(expression);
  return kSuccess;
}

Result nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  const Folder folder;
  const std::string source = folder.path() / program->name;
  const std::string library = folder.path() / "kernels.so";
  const std::string output = folder.path() / "log";
  std::ofstream(source) << with_launchers(*program);
  Dl_info runtime{};
  if (dladdr(reinterpret_cast<const void*>(&cudaGetLastError), &runtime) == 0) return kInvalidInput;
  std::vector<std::string> command{EMULATING_NVCC, "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-o", library};
  for (int i = 0; i < count; ++i) {
    if (add_option(command, options[i])) continue;
    program->log = std::string("nvrtc: error: unrecognized option ") + options[i] + "\n";
    return kInvalidOption;
  }
  command.insert(command.end(), {source, runtime.dli_fname});
  const bool done = run(command, output);
  program->log = contents(output);
  if (!done) return kCompilation;
  program->image = emulation::as_image(contents(library));
  return kSuccess;
}

Result nvrtcGetLoweredName(Program* program, const char* expression, const char** name) {
  for (std::size_t i = 0; i < program->expressions.size(); ++i) {
    if (program->expressions[i] != expression) continue;
    *name = program->symbols[i].c_str();
    return kSuccess;
  }
  return kNoName;
}

Result nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return kSuccess;
}
Result nvrtcGetProgramLog(Program* program, char* to) {
  std::memcpy(to, program->log.c_str(), program->log.size() + 1);
  return kSuccess;
}
Result nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->image.size();
  return kSuccess;
}
Result nvrtcGetCUBIN(Program* program, char* to) {
  std::memcpy(to, program->image.data(), program->image.size());
  return kSuccess;
}
Result nvrtcGetPTXSize(Program*, std::size_t*) { return kInvalidInput; }
Result nvrtcGetPTX(Program*, char*) { return kInvalidInput; }

}  // extern "C"
