#include "ops/fusion/native/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "engine/runtime/own_file.h"

extern char** environ;

namespace lamella::fusion::native {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr std::size_t kMostOutput = 4096;

std::string message_of(int error) { return std::system_category().message(error); }

/// Settings of a program that is started: what it reads and writes, and a process group of its own.
class Start {
 public:
  Start(int input, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~Start() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  /// Returns 0 or the error.
  int run(const std::vector<std::string>& command, pid_t& process) const {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    return posix_spawn(&process, command.front().c_str(), &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Waits for the process until a time; nothing if it still runs, -1 if somebody else has waited for it.
std::optional<int> wait_until(pid_t process, Clock::time_point end, const std::atomic<bool>& stop) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) return -1;
    if (Clock::now() >= end || stop.load(std::memory_order_relaxed)) return {};
    std::this_thread::sleep_for(kPause);
  }
}

/// Ends a process group: with a signal that lets a compiler remove its files, then for certain.
void end_group(pid_t process) {
  static const std::atomic<bool> never{false};
  kill(-process, SIGTERM);
  const bool ended = wait_until(process, Clock::now() + std::chrono::milliseconds(200), never).has_value();
  kill(-process, SIGKILL);
  if (!ended) wait_until(process, Clock::now() + std::chrono::seconds(5), never);
}

std::string read_output(int file) {
  std::string text(kMostOutput, '\0');
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const std::string& input, std::chrono::milliseconds limit,
                    const std::atomic<bool>& stop) {
  using Kind = Outcome::Kind;
  const File in(memfd_create("lamella-input", MFD_CLOEXEC));
  const File out(memfd_create("lamella-output", MFD_CLOEXEC));
  if (!in.is_open() || !out.is_open() || !write_all(in.get(), input) || lseek(in.get(), 0, SEEK_SET) != 0)
    return {Kind::NotStarted, message_of(errno)};
  pid_t process = 0;
  if (const int error = Start(in.get(), out.get()).run(command, process); error != 0)
    return {Kind::NotStarted, message_of(error)};
  const std::optional<int> status = wait_until(process, Clock::now() + limit, stop);
  if (!status) {
    end_group(process);
    return {stop.load(std::memory_order_relaxed) ? Kind::Stopped : Kind::Late, read_output(out.get())};
  }
  // Where the host program ignores the ends of children, the result alone tells.
  const bool done = *status == -1 || (WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
  return {done ? Kind::Done : Kind::Failed, read_output(out.get())};
}

std::optional<std::string> find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    struct stat found{};
    return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(name) : std::nullopt;
  const char* const folders = std::getenv("PATH");
  std::string rest = folders ? folders : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = rest.substr(0, end);
    rest.erase(0, end + 1);
    // Relative folders would depend on where the program runs.
    if (!folder.starts_with('/')) continue;
    if (std::string path = folder + "/" + name; runs(path)) return path;
  }
  return {};
}

}  // namespace lamella::fusion::native
