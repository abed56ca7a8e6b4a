#include "tests/cuda/emulation/runtime/kernel.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include "tests/cuda/emulation/runtime/fiber.h"
#include "tests/cuda/emulation/runtime/memory.h"
#include "tests/cuda/emulation/runtime/settings.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace emulation {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kMaxShared = std::size_t{256} << 10;

struct Thread {
  enum class State { Ready, AtBlockBarrier, AtWarpBarrier, Ended };
  State state = State::Ready;
  unsigned mask = 0;
  uint3 index{};
  Fiber* fiber = nullptr;
  alignas(16) char slot[16] = {};
};

/// The block that runs. There is one at a time in the process, as the runtime's lock is held meanwhile.
struct Block {
  std::vector<Thread> threads;
  std::size_t running = 0;
  alignas(256) char shared[kMaxShared];
};

Block& block() {
  static Block* const current = new Block;
  return *current;
}

std::vector<std::unique_ptr<Fiber>>& idle_fibers() {
  static auto* const idle = new std::vector<std::unique_ptr<Fiber>>;
  return *idle;
}

thread_local bool in_kernel = false;
cudaError_t failure = cudaSuccess;
const Kernel* running_kernel = nullptr;

/// Ends the emulated thread, and with it the kernel.
void fail_thread(cudaError_t error) {
  failure = error;
  Block& b = block();
  b.threads[b.running].fiber->abandon();
}

void after_fault() { fail_thread(cudaErrorIllegalAddress); }

struct sigaction handler_before;

void on_fault(int signal, siginfo_t* info, void* context) {
  Memory& memory = Memory::instance();
  if (memory.is_device_address(info->si_addr)) {
    if (in_kernel) {
      if (memory.open(info->si_addr)) return;
      std::fprintf(stderr,
                   "emulation: kernel %s, block (%u, %u, %u), thread (%u, %u, %u) touches %p, which is no memory"
                   " of its device\n",
                   name_of(*running_kernel).c_str(), blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                   threadIdx.z, info->si_addr);
      // Goes on behind the fault, on the thread's own stack, and never comes back.
      auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
      registers[REG_RSP] = (registers[REG_RSP] - 256) / 16 * 16 - 8;
      registers[REG_RIP] = reinterpret_cast<greg_t>(&after_fault);
      return;
    }
    std::fprintf(stderr, "emulation: the host touches device memory at %p\n", info->si_addr);
  }
  // The fault happens again under the handler that was there before.
  sigaction(SIGSEGV, &handler_before, nullptr);
  static_cast<void>(signal);
}

/// Sets the built-in variables, and runs the thread until its next barrier or its end.
void run_thread(std::size_t number, const std::function<void()>& work) {
  Block& b = block();
  Thread& thread = b.threads[number];
  b.running = number;
  threadIdx = thread.index;
  if (thread.fiber) {
    thread.fiber->resume();
  } else {
    auto& idle = idle_fibers();
    if (idle.empty()) idle.push_back(std::make_unique<Fiber>());
    thread.fiber = idle.back().release();
    idle.pop_back();
    thread.fiber->start(work);
  }
  if (!thread.fiber->ended()) return;
  thread.state = Thread::State::Ended;
  idle_fibers().emplace_back(thread.fiber);
  thread.fiber = nullptr;
}

/// Lets threads go on whose barrier all have reached that it waits for; false if there are none.
bool release_barriers() {
  Block& b = block();
  using State = Thread::State;
  bool released = false;
  for (std::size_t first = 0; first < b.threads.size(); first += kWarp) {
    const std::size_t end = std::min(first + kWarp, b.threads.size());
    unsigned released_lanes = 0;
    for (std::size_t i = first; i < end; ++i) {
      if (b.threads[i].state != State::AtWarpBarrier) continue;
      const unsigned mask = b.threads[i].mask;
      bool complete = true;
      for (std::size_t lane = 0; lane < end - first; ++lane) {
        const Thread& other = b.threads[first + lane];
        if ((mask >> lane & 1) == 0 || other.state == State::Ended) continue;
        if (other.state != State::AtWarpBarrier || other.mask != mask) complete = false;
      }
      if (complete) released_lanes |= 1u << (i - first);
    }
    for (std::size_t i = first; i < end; ++i) {
      if ((released_lanes >> (i - first) & 1) != 0) b.threads[i].state = State::Ready;
    }
    released |= released_lanes != 0;
  }
  if (released) return true;
  for (const Thread& thread : b.threads) {
    if (thread.state != State::AtBlockBarrier && thread.state != State::Ended) return false;
    released |= thread.state == State::AtBlockBarrier;
  }
  for (Thread& thread : b.threads) {
    if (thread.state == State::AtBlockBarrier) thread.state = State::Ready;
  }
  return released;
}

/// Ends the fibers of threads that have not ended.
void drop_threads() {
  for (Thread& thread : block().threads) {
    delete thread.fiber;
    thread.fiber = nullptr;
  }
}

void run_block(const Kernel& kernel, Order order) {
  Block& b = block();
  const std::size_t count = std::size_t{kernel.block.x} * kernel.block.y * kernel.block.z;
  b.threads.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(i);
    b.threads[i].index = {number % kernel.block.x, number / kernel.block.x % kernel.block.y,
                          number / kernel.block.x / kernel.block.y};
  }
  for (;;) {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = order == Order::Forward ? i : count - 1 - i;
      if (b.threads[number].state == Thread::State::Ready) run_thread(number, kernel.run);
      if (failure != cudaSuccess) return drop_threads();
      ended += b.threads[number].state == Thread::State::Ended;
    }
    if (ended == count) return;
    if (!release_barriers()) {
      std::fprintf(stderr, "emulation: kernel %s: threads wait at different barriers\n", name_of(kernel).c_str());
      failure = cudaErrorLaunchFailure;
      return drop_threads();
    }
  }
}

void run_grid(const Kernel& kernel, Order order) {
  gridDim = kernel.grid;
  blockDim = kernel.block;
  const std::size_t blocks = std::size_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  for (std::size_t i = 0; i < blocks && failure == cudaSuccess; ++i) {
    const auto number = static_cast<unsigned>(order == Order::Forward ? i : blocks - 1 - i);
    blockIdx = {number % kernel.grid.x, number / kernel.grid.x % kernel.grid.y, number / kernel.grid.x / kernel.grid.y};
    std::fill_n(block().shared, kernel.shared, static_cast<char>(0xFF));
    run_block(kernel, order);
  }
}

cudaError_t run_once(const Kernel& kernel, int device, Order order) {
  Memory& memory = Memory::instance();
  watch_faults();  // others, such as Python's, may have installed theirs since
  failure = cudaSuccess;
  running_kernel = &kernel;
  in_kernel = true;
  memory.begin_kernel(device);
  run_grid(kernel, order);
  in_kernel = false;
  if (const Allocation* const broken = memory.end_kernel()) {
    std::fprintf(stderr, "emulation: kernel %s writes outside of the %zu bytes at %p\n", name_of(kernel).c_str(),
                 broken->bytes, static_cast<void*>(broken->pointer));
    failure = cudaErrorIllegalAddress;
  }
  return failure;
}

/// Runs the kernel in both orders, each time from the same memory, and compares what it left there.
cudaError_t run_in_both_orders(const Kernel& kernel, int device) {
  Memory& memory = Memory::instance();
  memory.keep_contents(true);
  cudaError_t status = run_once(kernel, device, Order::Reversed);
  memory.keep_contents(false);
  if (status != cudaSuccess) return status;
  struct Result {
    Allocation allocation;
    std::vector<char> after;
  };
  std::vector<Result> results;
  for (const Memory::Touched& touched : memory.touched()) {
    char* const contents = memory.alias(touched.allocation->pointer);
    results.push_back({*touched.allocation, {contents, contents + touched.allocation->bytes}});
    std::copy(touched.before.begin(), touched.before.end(), contents);
  }
  status = run_once(kernel, device, Order::Forward);
  if (status != cudaSuccess) return status;
  for (const Result& result : results) {
    if (!std::equal(result.after.begin(), result.after.end(), memory.alias(result.allocation.pointer))) {
      std::fprintf(stderr, "emulation: kernel %s writes other values where its threads run in another order\n",
                   name_of(kernel).c_str());
      return cudaErrorLaunchFailure;
    }
  }
  return cudaSuccess;
}

}  // namespace

void block_barrier() {
  Block& b = block();
  Thread& thread = b.threads[b.running];
  thread.state = Thread::State::AtBlockBarrier;
  thread.fiber->pause();
}

bool block_any(bool mine) {
  std::memcpy(own_slot(), &mine, sizeof(mine));
  block_barrier();
  const bool any = std::ranges::any_of(block().threads, [](const Thread& thread) {
    return thread.state != Thread::State::Ended && *reinterpret_cast<const bool*>(thread.slot);
  });
  block_barrier();  // slots are read before another exchange writes them
  return any;
}

void warp_barrier(unsigned mask) {
  Block& b = block();
  Thread& thread = b.threads[b.running];
  thread.state = Thread::State::AtWarpBarrier;
  thread.mask = mask;
  thread.fiber->pause();
}

unsigned lane_id() { return static_cast<unsigned>(block().running % kWarp); }

void* own_slot() { return block().threads[block().running].slot; }

const void* slot_of(unsigned lane) {
  Block& b = block();
  const std::size_t number = b.running / kWarp * kWarp + lane;
  return b.threads[std::min(number, b.threads.size() - 1)].slot;
}

unsigned live_lanes(unsigned mask) {
  Block& b = block();
  const std::size_t first = b.running / kWarp * kWarp;
  unsigned live = 0;
  for (unsigned lane = 0; lane < kWarp && first + lane < b.threads.size(); ++lane) {
    if (b.threads[first + lane].state != Thread::State::Ended) live |= 1u << lane;
  }
  return live & mask;
}

void* dynamic_shared() { return block().shared; }

std::string name_of(const Kernel& kernel) {
  Dl_info info{};
  if (!kernel.code || dladdr(kernel.code, &info) == 0) return "(a library's)";
  if (!info.dli_sname) {
    std::ostringstream place;
    place << info.dli_fname << "+0x" << std::hex
          << static_cast<const char*>(kernel.code) - static_cast<const char*>(info.dli_fbase);
    return place.str();
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return status == 0 ? readable.get() : info.dli_sname;
}

cudaError_t run_kernel(const Kernel& kernel, int device) {
  return settings().races ? run_in_both_orders(kernel, device) : run_once(kernel, device, settings().order);
}

void watch_faults() {
  struct sigaction now{};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &handler_before);
}

}  // namespace emulation
