#include "engine/runtime/pinned.h"

#include <utility>

#include "engine/core/error.h"

namespace lamella {
namespace {

/// Never destroyed: tensors outlive static objects.
constinit PinnedMemory* registered = nullptr;
thread_local constinit bool copies_return = false;

}  // namespace

void register_pinned_memory(std::unique_ptr<PinnedMemory> memory) { registered = memory.release(); }

PinnedMemory* pinned_memory() noexcept { return registered; }

bool is_pinned(const Tensor& x) {
  return registered && x.device().is_cpu() && x->storage && registered->holds(x->storage->data);
}

Tensor empty_pinned(DimsView shape, DType dtype) {
  if (!registered) fail<RuntimeError>("[pin_memory] this build of Lamella has no CUDA, for which memory is pinned");
  const std::size_t bytes = static_cast<std::size_t>(count_elements(shape)) * item_size(dtype);
  void* const data = registered->allocate(bytes);
  return from_memory(
      data, shape, contiguous_strides(shape), dtype, kCPU, [](void* pointer) { registered->release(pointer); }, data);
}

NonBlockingCopies::NonBlockingCopies(bool on) noexcept : before_(std::exchange(copies_return, on)) {}
NonBlockingCopies::~NonBlockingCopies() { copies_return = before_; }
bool NonBlockingCopies::on() noexcept { return copies_return; }

}  // namespace lamella
