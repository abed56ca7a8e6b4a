#include "tests/cuda/emulation/runtime/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifndef __x86_64__
#error "the emulation switches stacks by instructions of x86-64"
#endif

extern "C" void emulation_switch(void** from, void* to);

// Saves the registers that a function keeps for its caller, and goes on with another stack. System V's calling
// convention of x86-64 names them.
asm(R"(
  .text
  .type emulation_switch, @function
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulation_switch, .-emulation_switch
)");

namespace emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = std::size_t{256} << 10;

thread_local Fiber* current = nullptr;

}  // namespace

Fiber::Fiber() {
  memory_ = static_cast<char*>(
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory_ == MAP_FAILED || mprotect(memory_, kPage, PROT_NONE) != 0) {
    std::perror("stack of an emulated thread");
    std::abort();
  }
}

Fiber::~Fiber() { munmap(memory_, kStack); }

void Fiber::enter() {
  Fiber* const self = current;
  (*self->work_)();
  self->ended_ = true;
  self->pause();
  std::abort();  // an ended fiber is never resumed
}

void Fiber::start(const std::function<void()>& work) {
  work_ = &work;
  ended_ = false;
  // Six registers, and the address to return to. At a function's entry the stack is 8 bytes off a multiple of 16.
  auto* top = reinterpret_cast<std::uintptr_t*>(memory_ + kStack - 64);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--top = 0;
  own_ = top;
  resume();
}

void Fiber::resume() {
  Fiber* const before = current;
  current = this;
  emulation_switch(&caller_, own_);
  current = before;
}

void Fiber::pause() { emulation_switch(&own_, caller_); }

void Fiber::abandon() {
  ended_ = true;
  pause();
  std::abort();
}

}  // namespace emulation
