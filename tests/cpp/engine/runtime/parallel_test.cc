#include "engine/runtime/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/core/error.h"

namespace lamella {
namespace {

/// Restores the number of threads.
class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }

 private:
  int before_;
};

TEST(ParallelFor, VisitsEveryElementOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    for (const std::int64_t n : {0, 1, 9, 10, 11, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      parallel_for(0, n, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelFor, CutsAtMultiplesOfTheGrain) {
  const Threads scope(3);
  std::mutex mutex;
  std::set<std::int64_t> begins;
  parallel_for(5, 105, 8, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    begins.insert(begin);
    EXPECT_TRUE(end == 105 || (end - 5) % 8 == 0);
  });
  for (const std::int64_t begin : begins) EXPECT_EQ((begin - 5) % 8, 0);
  EXPECT_EQ(begins.size(), 3u);
}

TEST(ParallelFor, UsesSeveralThreads) {
  const Threads scope(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST(ParallelFor, CarriesAnExceptionOver) {
  const Threads scope(4);
  const auto run = [](std::int64_t bad) {
    parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) {
      if (begin <= bad && bad < end) throw std::out_of_range("seen");
    });
  };
  EXPECT_THROW(run(0), std::out_of_range);
  EXPECT_THROW(run(99), std::out_of_range);
  EXPECT_NO_THROW(run(-1));
}

TEST(ParallelFor, IsSerialInside) {
  const Threads scope(4);
  parallel_for(0, 4, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    int calls = 0;
    parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(end - begin, 100);
      ++calls;
    });
    EXPECT_EQ(calls, 1);
  });
}

TEST(ParallelFor, RunsFromSeveralThreadsAtOnce) {
  const Threads scope(2);
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        parallel_for(0, 64, 8, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 64);
}

TEST(ParallelFor, RefusesNoThreads) { EXPECT_THROW(set_thread_count(0), ValueError); }

/// Returns the exit code of a child process that runs `body`.
template <class Body>
int exit_code_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int count_to_hundred() {
  std::atomic<int> count{0};
  parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) { count += static_cast<int>(end - begin); });
  return count;
}

TEST(Fork, ChildIsSerialUntilItAsksOtherwise) {
  const Threads scope(2);
  ASSERT_EQ(count_to_hundred(), 100);  // starts the parent's workers
  EXPECT_EQ(exit_code_of_child([] { return thread_count(); }), 1);
  EXPECT_EQ(exit_code_of_child(count_to_hundred), 100);
  EXPECT_EQ(exit_code_of_child([] {
              set_thread_count(2);
              return count_to_hundred();
            }),
            100);
  EXPECT_EQ(thread_count(), 2);
}

}  // namespace
}  // namespace lamella
