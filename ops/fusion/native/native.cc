#include "ops/fusion/native/native.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/fusion/native/compiler.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella::fusion::native {
namespace {

/// Steps on elements after which a program is worth compiling: as many as take some 10 ms block by block.
constexpr std::int64_t kWorthCompiling = std::int64_t{1} << 25;
/// Elements that the start of a step on a block costs as much as.
constexpr std::int64_t kStart = 256;
/// Programs that are compiled at once.
constexpr std::size_t kMostAtOnce = 16;
constexpr auto kPatience = std::chrono::seconds(2);

Settings settings_of_environment() {
  Settings settings;
  const char* const compiler = std::getenv("LAMELLA_COMPILER");
  if (compiler && std::string_view(compiler) == "off") {
    settings.mode = Mode::Off;
  } else if (compiler) {
    settings.compiler = compiler;
  }
  return settings;
}

/// All code of the process, and the thread that compiles it while there is something to do.
class Service {
 public:
  Settings settings() {
    const std::lock_guard lock(mutex_);
    return settings_;
  }

  void set_settings(Settings settings) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !running_; });
    settings_ = std::move(settings);
    compiler_ = std::make_unique<Compiler>(settings_);
    mode_.store(settings_.mode, std::memory_order_relaxed);
    problems_.clear();
    untold_.store(false, std::memory_order_relaxed);
    told_ = 0;
    gave_up_ = false;
    for (const auto& [_, code] : codes_) {
      if (code->state == Code::State::Failed) code->state = Code::State::New;
    }
  }

  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// True if programs are compiled that have not run often.
  bool hurries() const { return mode() == Mode::Wait || scopes.load(std::memory_order_relaxed) > 0; }

  /// Returns the code with that text, which programs share.
  std::shared_ptr<Code> code(std::string body) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Code>& code = codes_[body];
    if (!code) code = std::make_shared<Code>(std::move(body));
    return code;
  }

  /// Has code compiled, and waits for that if asked to.
  void request(const std::shared_ptr<Code>& code, bool wait) {
    std::unique_lock lock(mutex_);
    if (code->state == Code::State::New && !gave_up_ && !forked_ && !stop_.load(std::memory_order_relaxed)) {
      code->state = Code::State::Queued;
      queue_.push_back(code);
      if (!running_) start();
    }
    if (wait) changed_.wait(lock, [&] { return code->state != Code::State::Queued; });
  }

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !running_; });
  }

  Status status() {
    const std::lock_guard lock(mutex_);
    Status status{.compiler = identity_,
                  .cache = compiler_->folder(),
                  .compiled = compiled_,
                  .loaded = loaded_,
                  .waiting = static_cast<int>(queue_.size() + at_work_.size()),
                  .problems = {},
                  .gave_up = gave_up_};
    for (const Problem& problem : problems_) status.problems.push_back(problem.text);
    return status;
  }

  std::vector<std::string> untold_problems() {
    std::vector<std::string> texts;
    if (!untold_.load(std::memory_order_relaxed)) return texts;
    const std::lock_guard lock(mutex_);
    for (; told_ < problems_.size(); ++told_) texts.push_back(problems_[told_].text);
    untold_.store(false, std::memory_order_relaxed);
    return texts;
  }

  void note_device_problem(const std::string& text) {
    const std::lock_guard lock(mutex_);
    note({Problem::Kind::Device, text + "; fused programs of devices run operator by operator"});
  }

  /// Ends the compiler's process, so that it leaves no files, before the program ends.
  void end() {
    std::unique_lock lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
    changed_.wait_for(lock, kPatience, [&] { return !running_; });
  }

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  /// The child has no such thread, and runs what it cannot find compiled block by block.
  void after_fork_in_child() {
    forked_ = true;
    running_ = false;
    at_work_.clear();
    queue_.clear();
    for (const auto& [_, code] : codes_) {
      if (code->state == Code::State::Queued) code->state = Code::State::Failed;
    }
    mutex_.unlock();
  }

  /// Number of CompileScopes.
  std::atomic<int> scopes{0};

 private:
  /// Starts the thread, with the lock held; without one, what is queued fails.
  void start() {
    try {
      if (detail::has_room_for_threads(1)) {
        std::thread([this] { work(); }).detach();
        running_ = true;
        return;
      }
    } catch (const std::system_error&) {
      // as without room
    }
    finish(queue_);
  }

  void work() {
    std::unique_lock lock(mutex_);
    try {
      while (!queue_.empty()) {
        const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMostAtOnce));
        at_work_.assign(queue_.begin(), queue_.begin() + count);
        queue_.erase(queue_.begin(), queue_.begin() + count);
        if (!gave_up_ && !stop_.load(std::memory_order_relaxed)) {
          lock.unlock();
          Compiler::Result result = compile(at_work_);
          lock.lock();
          note(std::move(result));
        }
        finish(at_work_);
        changed_.notify_all();
      }
    } catch (const std::bad_alloc&) {
      if (!lock.owns_lock()) lock.lock();
      finish(at_work_);
      finish(queue_);
    }
    running_ = false;
    changed_.notify_all();
  }

  Compiler::Result compile(const std::vector<std::shared_ptr<Code>>& codes) {
    try {
      return compiler_->run(codes, stop_);
    } catch (const std::exception& error) {
      return {.problems = {{Problem::Kind::Failed, error.what()}}, .gave_up = true};
    }
  }

  void note(Compiler::Result result) {
    compiled_ += result.compiled;
    loaded_ += result.loaded;
    identity_ = compiler_->identity();
    gave_up_ = gave_up_ || result.gave_up;
    for (Problem& problem : result.problems) {
      problem.text += result.gave_up ? "; fused programs run block by block" : "";
      note(std::move(problem));
    }
  }

  void note(Problem problem) {
    if (std::ranges::any_of(problems_, [&](const Problem& known) { return known.kind == problem.kind; })) return;
    problems_.push_back(std::move(problem));
    untold_.store(true, std::memory_order_relaxed);
  }

  /// Ends the wait for codes, and forgets them.
  static void finish(std::vector<std::shared_ptr<Code>>& codes) {
    for (const std::shared_ptr<Code>& code : codes)
      code->state = code->kernel.load(std::memory_order_relaxed) ? Code::State::Ready : Code::State::Failed;
    codes.clear();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Settings settings_ = settings_of_environment();
  std::atomic<Mode> mode_{settings_.mode};
  std::unique_ptr<Compiler> compiler_ = std::make_unique<Compiler>(settings_);
  std::unordered_map<std::string, std::shared_ptr<Code>> codes_;
  std::vector<std::shared_ptr<Code>> queue_;
  /// The thread's own while it is at work, as the compiler is.
  std::vector<std::shared_ptr<Code>> at_work_;
  bool running_ = false;
  bool forked_ = false;
  bool gave_up_ = false;
  std::atomic<bool> stop_{false};
  std::string identity_;
  int compiled_ = 0;
  int loaded_ = 0;
  std::vector<Problem> problems_;
  std::size_t told_ = 0;
  std::atomic<bool> untold_{false};
};

/// Returns the service, which is never destroyed: its thread may outlive other objects.
Service& service() {
  static auto* const one = new Service;
  return *one;
}

[[maybe_unused]] const int fork_handler = pthread_atfork(
    [] { service().before_fork(); }, [] { service().after_fork_in_parent(); }, [] { service().after_fork_in_child(); });

const struct AtExit {
  ~AtExit() { service().end(); }
} at_exit;

}  // namespace

Settings settings() { return service().settings(); }
void set_settings(Settings settings) { service().set_settings(std::move(settings)); }
Status status() { return service().status(); }
std::vector<std::string> untold_problems() { return service().untold_problems(); }
void note_device_problem(const std::string& text) { service().note_device_problem(text); }
bool compiles() noexcept { return service().mode() != Mode::Off; }
bool compiles_at_once() noexcept { return service().hurries(); }
void wait_for_all() { service().wait_for_all(); }

CompileScope::CompileScope(bool wanted) : wanted_(wanted) {
  if (wanted_) service().scopes.fetch_add(1, std::memory_order_relaxed);
}
CompileScope::~CompileScope() {
  if (!wanted_) return;
  service().scopes.fetch_sub(1, std::memory_order_relaxed);
  const HostRelease release(kWorthCompiling);
  service().wait_for_all();
}

Kernel find_kernel(const Program& program, Variant variant, std::int64_t elements) {
  const Mode mode = service().mode();
  if (mode == Mode::Off || program.instructions.empty()) return nullptr;
  std::shared_ptr<Code> code;
  {
    Forms& forms = program.forms();
    const std::lock_guard lock(forms.mutex);
    auto found = std::ranges::find(forms.all, variant, &Forms::Form::variant);
    if (found == forms.all.end()) {
      forms.all.push_back({.variant = std::move(variant), .code = nullptr});
      found = forms.all.end() - 1;
    }
    if (found->code) {
      if (const Kernel kernel = found->code->kernel.load(std::memory_order_acquire)) return kernel;
    } else if (!found->emitted) {
      found->work += (elements + kStart) * static_cast<std::int64_t>(program.instructions.size());
      if (!service().hurries() && found->work < kWorthCompiling) return nullptr;
      found->emitted = true;
      if (std::optional<std::string> body = kernel_body(program, found->variant, cpu_kernels().vectors.bytes))
        found->code = service().code(std::move(*body));
    }
    code = found->code;
  }
  if (!code) return nullptr;
  const bool waits = mode == Mode::Wait;
  const HostRelease release(waits ? kWorthCompiling : 0);
  service().request(code, waits);
  return code->kernel.load(std::memory_order_acquire);
}

}  // namespace lamella::fusion::native
