#include "engine/distributed/process_group.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/distributed/error.h"

namespace lamella::distributed {
namespace {

/// Two processes of which the other one never answers: operations wait until they are given up.
class Silent : public Backend {
 public:
  explicit Silent(std::shared_ptr<std::atomic<bool>> aborted) : aborted_(std::move(aborted)) {}
  void all_reduce(void*, std::size_t, DType, ReduceOp, Milliseconds timeout) override { wait(timeout); }
  void reduce(void*, std::size_t, DType, ReduceOp, int, Milliseconds timeout) override { wait(timeout); }
  void all_gather(const void*, void*, std::span<const std::size_t>, Milliseconds timeout) override { wait(timeout); }
  void all_to_all(const void*, std::span<const std::size_t>, void*, std::span<const std::size_t>,
                  Milliseconds timeout) override {
    wait(timeout);
  }
  void broadcast(void*, std::size_t, int, Milliseconds timeout) override { wait(timeout); }
  void barrier(Milliseconds timeout) override { wait(timeout); }
  std::unique_ptr<Transfer> send(const void*, std::size_t, int, std::uint32_t) override { return nullptr; }
  std::unique_ptr<Transfer> receive(void*, std::size_t, int, std::uint32_t) override { return nullptr; }
  std::unique_ptr<Backend> subset(std::span<const int>, Milliseconds) override { return nullptr; }
  void abort() noexcept override { *aborted_ = true; }

 private:
  void wait(Milliseconds timeout) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!*aborted_ && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(Milliseconds(1));
    fail<RuntimeError>("nobody is there");
  }
  std::shared_ptr<std::atomic<bool>> aborted_;
};

/// Two processes of which the other one says nothing of itself.
class Paired final : public Silent {
 public:
  Paired() : Silent(std::make_shared<std::atomic<bool>>(false)) {}
  void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds) override {
    std::memcpy(out, in, bytes[0]);
  }
  void barrier(Milliseconds) override {}
};

std::string nothing() { return ""; }

GroupOptions two(std::unique_ptr<Backend> backend, int milliseconds) {
  GroupOptions options{.name = "two", .backend_name = "fake", .ranks = {0, 1}, .rank = 0};
  options.timeout = Milliseconds(milliseconds);
  options.backend = std::move(backend);
  return options;
}

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(ProcessGroup, RunsOperationsInTheirOrder) {
  ProcessGroup group(
      {.name = "one", .ranks = {0}, .rank = 0, .timeout = Milliseconds(1000), .backend = solo_backend()});
  std::vector<int> order;
  std::vector<std::shared_ptr<Work>> works;
  for (int i = 0; i < 20; ++i) {
    works.push_back(group.start("step", nothing, [&order, i](Backend&, Milliseconds) { order.push_back(i); }));
  }
  for (const auto& work : works) work->wait();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(works[0]->is_completed());
}

TEST(ProcessGroup, AMessageThatCannotBeginGivesTheGroupUp) {
  const auto aborted = std::make_shared<std::atomic<bool>>(false);
  ProcessGroup group(two(std::make_unique<Silent>(aborted), 1000));
  const auto start = [&](auto&& begin) { group.start_transfer("send", begin, nullptr); };
  const auto mistake = [](Backend&) -> std::unique_ptr<Transfer> { fail<ValueError>("no such tag"); };
  EXPECT_EQ(message_of<ValueError>([&] { start(mistake); }), "no such tag");
  EXPECT_FALSE(*aborted);
  const auto lost = [](Backend&) -> std::unique_ptr<Transfer> { fail<RuntimeError>("closed by peer"); };
  EXPECT_NE(message_of<DistributedError>([&] { start(lost); }).find("[send] group 'two': send, failed on rank 0 of 2"),
            std::string::npos);
  EXPECT_TRUE(*aborted);
}

TEST(ProcessGroup, DropsWhatAnOperationHoldsBeforeItEnds) {
  ProcessGroup group(
      {.name = "one", .ranks = {0}, .rank = 0, .timeout = Milliseconds(1000), .backend = solo_backend()});
  const auto held = std::make_shared<int>(1);
  group.start("step", nothing, [held](Backend&, Milliseconds) {})->wait();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ProcessGroup, NamesAnOperationThatTakesTooLong) {
  const auto aborted = std::make_shared<std::atomic<bool>>(false);
  ProcessGroup group(two(std::make_unique<Silent>(aborted), 30));
  const auto barrier = [](Backend& backend, Milliseconds timeout) { backend.barrier(timeout); };
  const auto first = group.start("barrier", nothing, barrier);
  const auto second = group.start("barrier", nothing, barrier);
  EXPECT_EQ(message_of<DistributedError>([&] { first->wait(); }),
            "[barrier] group 'two': operation 1, barrier, failed on rank 0 of 2: no answer within 0.03 s; fake: nobody "
            "is there");
  EXPECT_NE(message_of<DistributedError>([&] { second->wait(); }).find("has failed before"), std::string::npos);
  EXPECT_NE(message_of<DistributedError>([&] { group.usable_backend("next"); }).find("[next] group 'two' has failed"),
            std::string::npos);
  EXPECT_TRUE(*aborted);
}

TEST(ProcessGroup, GivesUpWhatStillRunsWhenItIsLeft) {
  const auto aborted = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Work> work;
  const auto begin = std::chrono::steady_clock::now();
  {
    ProcessGroup group(two(std::make_unique<Silent>(aborted), 60000));
    work = group.start("barrier", nothing, [](Backend& backend, Milliseconds timeout) { backend.barrier(timeout); });
  }
  EXPECT_THROW(work->wait(), DistributedError);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(ProcessGroup, IsLeftWhileOthersHoldIt) {
  ProcessGroup group(
      {.name = "one", .ranks = {0}, .rank = 0, .timeout = Milliseconds(1000), .backend = solo_backend()});
  group.leave();
  EXPECT_NE(message_of<DistributedError>([&] { group.usable_backend("sum"); }).find("has left group 'one'"),
            std::string::npos);
  group.leave();
}

TEST(ProcessGroup, WithoutABackendMovesNoData) {
  ProcessGroup group(two(nullptr, 10));
  EXPECT_NE(message_of<RuntimeError>([&] { group.usable_backend("sum"); }).find("moves no data"), std::string::npos);
  GroupOptions others{.name = "others", .ranks = {2, 3}};
  ProcessGroup not_ours(std::move(others));
  EXPECT_NE(
      message_of<RuntimeError>([&] { not_ours.usable_backend("sum"); }).find("whose members are the processes 2, 3"),
      std::string::npos);
}

TEST(Progress, TellsWhereTheOthersStand) {
  constexpr int kMany = 1 << 16;  // bytes, more than the records of four processes
  const int file = memfd_create("progress", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kMany), 0);
  Progress own(file, 0, 4);
  auto behind = std::make_unique<Progress>(file, 1, 4);
  auto left = std::make_unique<Progress>(file, 2, 4);
  close(file);
  own.begin(2, "all_reduce");
  behind->begin(1, "barrier");
  left->begin(2, "all_reduce");
  left->end();
  EXPECT_FALSE(own.has_lost_one());
  left.reset();
  EXPECT_TRUE(own.has_lost_one());
  const std::vector<Absentee> found = own.absent(2);  // the last process is on another machine
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].reason, "is in operation 1, barrier");
  EXPECT_EQ(found[1].reason, "left the group after operation 2, all_reduce");
  behind->give_up();
  EXPECT_EQ(own.absent(2).size(), 1u);
}

TEST(Progress, IsSharedByProcessesThatSeeEachOther) {
  EXPECT_EQ(Progress::share(*solo_backend(), 0, 1, Milliseconds(10)), nullptr);
  Paired backend;
  const std::unique_ptr<Progress> own = Progress::share(backend, 0, 2, Milliseconds(10));
  ASSERT_NE(own, nullptr);
  own->begin(1, "barrier");
  EXPECT_TRUE(own->absent(1).empty());  // the other one does not run here
}

TEST(Groups, AreFoundByTheirNames) {
  EXPECT_EQ(find_group("self")->size(), 1);
  EXPECT_EQ(default_group(), nullptr);
  EXPECT_NE(message_of<RuntimeError>([] { find_group(""); }).find("there is no process group yet"), std::string::npos);
  const auto make = [](const char* name) {
    return std::make_shared<ProcessGroup>(GroupOptions{.name = name, .ranks = {0}, .rank = 0});
  };
  add_group(make("first"));
  add_group(make("second"));
  EXPECT_EQ(find_group("")->name(), "first");
  EXPECT_EQ(find_group("second")->name(), "second");
  EXPECT_THROW(add_group(make("second")), RuntimeError);
  EXPECT_NE(message_of<RuntimeError>([] { find_group("third"); }).find("there are 'first', 'second'"),
            std::string::npos);
  remove_group("");
  EXPECT_EQ(default_group(), nullptr);
}

}  // namespace
}  // namespace lamella::distributed
