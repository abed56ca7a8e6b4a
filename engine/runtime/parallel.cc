#include "engine/runtime/parallel.h"

#include <pthread.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/memory_limit.h"
#include "engine/runtime/deterministic.h"

#ifdef LAMELLA_OPENMP
#include <omp.h>
#endif

// Note [Fork]
// A child of fork() has one thread. A library with a pool of worker threads (libgomp here and in oneDNN) would wait
// forever for those of the parent, so the child starts with one thread; if it sets more, loops run on threads created
// for each loop, and OpenMP stays serial.

// Note [Threads under a limit of memory]
// libgomp ends the process if it cannot start a thread, or if the thread cannot allocate its own data. So if memory is
// limited, the room for the stacks of new threads is checked first, and the caller works alone without it. A thread
// that starts loops has workers of its own, which wait for its next loop.

namespace lamella {

using detail::has_room_for_threads;

namespace {

/// Returns the initial number of threads: OpenMP respects OMP_NUM_THREADS and the process's CPU affinity.
int initial_threads() {
#ifdef LAMELLA_OPENMP
  return std::max(1, omp_get_max_threads());
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

/// Determined when the library is loaded, before anybody changes it.
const int default_threads = initial_threads();

/// Returns the size of a thread's stack: OMP_STACKSIZE (a number and a unit, kilobytes by default) if that is larger
/// than the system's default, for both kinds of threads.
std::size_t thread_stack_bytes() {
  std::size_t bytes = std::size_t{8} << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  if (const char* const text = std::getenv("OMP_STACKSIZE")) {
    char* unit = nullptr;
    const std::size_t number = std::strtoull(text, &unit, 10);
    while (*unit == ' ') ++unit;
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(*unit)));
    const int shift = letter == 'B' ? 0 : letter == 'M' ? 20 : letter == 'G' ? 30 : 10;
    bytes = std::max(bytes, number << shift);
  }
  return bytes;
}

std::atomic<int> threads{0};  // 0: not set yet
std::atomic<bool> forked{false};
thread_local bool inside_loop = false;

#ifdef LAMELLA_OPENMP
/// Number of threads, including the caller, that OpenMP is known to have ready for this thread's loops.
thread_local int pool_size = 1;

/// Makes sure that a loop on `members` threads finds them; returns false if there is no memory for them. See Note
/// [Threads under a limit of memory].
bool grow_pool(int members) {
  if (members <= pool_size) [[likely]]
    return true;
  if (!has_room_for_threads(members - pool_size)) return false;
  if (pool_size == 1) {
    // Started now, while there is room, rather than when a library needs them.
#pragma omp parallel num_threads(members)
    static_cast<void>(omp_get_thread_num());
    pool_size = members;
  }
  return true;
}
#endif

void after_fork() {
  threads.store(1, std::memory_order_relaxed);
  forked.store(true, std::memory_order_relaxed);
#ifdef LAMELLA_OPENMP
  omp_set_num_threads(1);
#endif
}

/// Registered when the library is loaded, before anybody can fork.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, after_fork);

/// The parts of a loop that threads run, and the first exception of any part.
class Team {
 public:
  Team(std::int64_t begin, std::int64_t end, std::int64_t grain, int members, detail::RangeBody body, void* context)
      : begin_(begin), end_(end), body_(body), context_(context) {
    const std::int64_t grains = (end - begin + grain - 1) / grain;
    part_ = (grains + members - 1) / members * grain;
  }

  void run(int member) noexcept {
    const std::int64_t first = begin_ + member * part_;
    if (first >= end_) return;
    const bool before = std::exchange(inside_loop, true);
    try {
      body_(context_, first, std::min(end_, first + part_));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    inside_loop = before;
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t part_;
  detail::RangeBody body_;
  void* context_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void run_on_own_threads(Team& team, int members) {
  std::vector<std::thread> others;
  int started = 1;
  try {
    others.reserve(static_cast<std::size_t>(members));
    for (; started < members && has_room_for_threads(1); ++started)
      others.emplace_back([&team, started] { team.run(started); });
  } catch (const std::system_error&) {
    // No more threads are available: the caller does the rest.
  } catch (const std::bad_alloc&) {  // no more threads are available
  }
  team.run(0);
  for (int member = started; member < members; ++member) team.run(member);
  for (std::thread& thread : others) thread.join();
}

}  // namespace

int thread_count() {
  const int count = threads.load(std::memory_order_relaxed);
  return count > 0 ? count : default_threads;
}

void set_thread_count(int count) {
  if (count < 1) fail<ValueError>("[set_thread_count] expected at least 1, got ", count);
  threads.store(count, std::memory_order_relaxed);
}

namespace detail {

bool has_room_for_threads(int count) {
  constexpr std::size_t kMargin = std::size_t{2} << 20;
  static const std::size_t each = thread_stack_bytes() + kMargin;
  return !memory_is_limited() || has_room(static_cast<std::size_t>(count) * each + kMargin);
}

int share_thread_count(int limit) {
  const bool alone = forked.load(std::memory_order_relaxed) || inside_loop || are_deterministic_algorithms_enabled();
  int count = alone ? 1 : std::min(limit, thread_count());
#ifdef LAMELLA_OPENMP
  if (count > 1) {
    if (!grow_pool(count)) count = 1;
    // A library may use fewer threads for parts of its work, but at least two, which ends the others.
    if (pool_size > 2) pool_size = 2;
  }
  if (omp_get_max_threads() != count) omp_set_num_threads(count);
#endif
  return count;
}

void parallel_ranges(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body, void* context) {
  const std::int64_t grains = (end - begin + grain - 1) / grain;
  const int members = static_cast<int>(std::min<std::int64_t>(grains, thread_count()));
  if (members <= 1 || inside_loop) {
    body(context, begin, end);
    return;
  }
  Team team(begin, end, grain, members, body, context);
#ifdef LAMELLA_OPENMP
  if (!forked.load(std::memory_order_relaxed)) {
    if (!grow_pool(members)) {
      for (int member = 0; member < members; ++member) team.run(member);
      team.rethrow();
      return;
    }
#pragma omp parallel num_threads(members)
    // The runtime may provide fewer threads than requested.
    for (int member = omp_get_thread_num(); member < members; member += omp_get_num_threads()) team.run(member);
    pool_size = members;  // the runtime ends threads that a loop does not need
    team.rethrow();
    return;
  }
#endif
  run_on_own_threads(team, members);
  team.rethrow();
}

}  // namespace detail
}  // namespace lamella
