#include "engine/core/tensor.h"

#include <algorithm>
#include <array>

#include "engine/core/access_watch.h"
#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/core/exports.h"
#include "engine/core/listed.h"
#include "engine/core/modes.h"
#include "engine/core/physical_layout.h"
#include "engine/core/small_blocks.h"
#include "engine/core/thread_state.h"

namespace lamella {
namespace {

// A tensor object and the storage that it creates share one block: [TensorImpl][Storage][data of a small tensor].
constexpr std::size_t kStorageOffset =
    (sizeof(TensorImpl) + alignof(Storage) - 1) / alignof(Storage) * alignof(Storage);
constexpr std::size_t kDataOffset = (kStorageOffset + sizeof(Storage) + 63) / 64 * 64;
constexpr std::size_t kMaxEmbedded = 1024;
static_assert(kDataOffset == 256, "every tensor pays for what these objects hold");

std::array<CurrentStream, kDeviceTypeCount> current_stream_of{};

struct OwnedBlock {
  TensorImpl* impl;
  Storage* storage;
};

OwnedBlock make_owner(std::size_t embedded_bytes) {
  const std::size_t block_bytes = kDataOffset + embedded_bytes;
  char* block = static_cast<char*>(detail::allocate_block(block_bytes));
  auto* impl = new (block) TensorImpl;
  auto* storage = new (block + kStorageOffset) Storage;
  impl->storage = storage;
  return {impl, storage};
}

std::size_t bytes_of(std::int64_t elements, DType dtype, DimsView shape) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(elements), item_size(dtype), &bytes) || bytes > SIZE_MAX / 4) {
    fail<ValueError>("a ", dtype, " tensor of shape ", to_string(shape), " does not fit into the address space");
  }
  return bytes;
}

std::uint8_t flags_of_new() noexcept { return autograd::modes().inference ? TensorImpl::kInference : 0; }

}  // namespace

void Storage::destroy() noexcept {
  if (version_word() & kForeign) [[unlikely]]
    forget_exports(*this);
  if (deleter) {
    deleter(context);
  } else if (!embedded && data) {
    allocator(device).deallocate(data, bytes, context);
  }
  char* block = reinterpret_cast<char*>(this) - kStorageOffset;
  const std::size_t block_bytes = kDataOffset + (embedded ? bytes : 0);
  this->~Storage();
  detail::free_block(block, block_bytes);
}

Tensor empty(DimsView shape, DType dtype, Device device) {
  const std::int64_t elements = count_elements(shape);
  const std::size_t bytes = bytes_of(elements, dtype, shape);
  const bool embedded = device.is_cpu() && bytes <= kMaxEmbedded;
  const auto [impl, storage] = make_owner(embedded ? bytes : 0);
  Tensor result(Ref<TensorImpl>::adopt(impl));
  impl->elements = elements;
  impl->dtype = dtype;
  impl->device = device;
  storage->device = device;
  storage->bytes = bytes;
  impl->flags = flags_of_new();
  impl->shape.assign(shape.begin(), shape.end());
  set_contiguous_strides(shape, impl->strides);
  if (embedded) {
    storage->embedded = true;
    storage->data = reinterpret_cast<char*>(impl) + kDataOffset;
  } else if (!device.is_meta()) {
    if (const CurrentStream stream = current_stream_of[static_cast<std::size_t>(device.type)])
      storage->context = stream(device);
    storage->data = allocator(device).allocate(bytes, storage->context);
  }
  impl->data = static_cast<char*>(storage->data);
  return result;
}

Tensor from_memory(void* data, DimsView shape, DimsView strides, DType dtype, Device device, Storage::Deleter deleter,
                   void* context) {
  const std::int64_t elements = count_elements(shape);
  const std::size_t bytes = bytes_of(elements, dtype, shape);
  const auto [impl, storage] = make_owner(0);
  Tensor result(Ref<TensorImpl>::adopt(impl));
  impl->elements = elements;
  impl->dtype = dtype;
  impl->device = device;
  impl->flags = flags_of_new();
  impl->shape.assign(shape.begin(), shape.end());
  impl->strides.assign(strides.begin(), strides.end());
  impl->contiguous = is_contiguous(shape, strides);
  impl->data = static_cast<char*>(data);
  storage->device = device;
  storage->bytes = bytes;
  storage->data = data;
  storage->deleter = deleter ? deleter : [](void*) {};
  storage->context = context;
  return result;
}

Tensor make_view(const Tensor& x, DimsView shape, DimsView strides, std::int64_t offset) {
  auto* impl = new (detail::allocate_block(sizeof(TensorImpl))) TensorImpl;
  impl->storage = x->storage;
  impl->storage->retain();
  Tensor result(Ref<TensorImpl>::adopt(impl));
  impl->elements = count_elements(shape);
  impl->dtype = x.dtype();
  impl->device = x.device();
  impl->flags =
      static_cast<std::uint8_t>(TensorImpl::kView | (x->flags & (TensorImpl::kDerived | TensorImpl::kInference)));
  impl->shape.assign(shape.begin(), shape.end());
  impl->strides.assign(strides.begin(), strides.end());
  impl->contiguous = is_contiguous(shape, strides);
  if (x->hidden) {
    impl->hidden = std::make_unique<HiddenAxes>(*x->hidden);
    impl->contiguous = false;
  }
  impl->data = x->data ? x->data + offset * static_cast<std::int64_t>(item_size(x.dtype())) : nullptr;
  if (impl->storage->has_mark(Storage::kLent)) [[unlikely]]
    detail::list_view(*impl);
  return result;
}

Tensor make_alias(const Tensor& x) { return make_view(x, x.shape(), x.strides()); }

Tensor detail::lend_memory(const Tensor& x) {
  const MemoryExtent extent(*x.impl());
  const auto [impl, storage] = make_owner(sizeof(Loan));
  Tensor lent(Ref<TensorImpl>::adopt(impl));
  impl->data = x->data;
  impl->elements = x->elements;
  impl->dtype = x->dtype;
  impl->device = x->device;
  impl->flags = x->flags & (TensorImpl::kDerived | TensorImpl::kInference);
  impl->contiguous = x->contiguous;
  impl->shape = x->shape;
  impl->strides = x->strides;
  if (x->hidden) impl->hidden = std::make_unique<HiddenAxes>(*x->hidden);
  storage->device = x->device;
  storage->data = extent.low;
  storage->embedded = true;  // the embedded data is the loan itself
  storage->bytes = sizeof(Loan);
  storage->context = new (reinterpret_cast<char*>(impl) + kDataOffset)
      Loan{x->storage, extent.low, static_cast<std::size_t>(extent.high - extent.low), impl, {}};
  x->storage->retain();
  storage->deleter = [](void* context) {
    auto* const loan = static_cast<Loan*>(context);
    Storage* const owner = loan->owner;
    loan->~Loan();
    owner->release();
  };
  const unsigned read_only = x->storage->has_mark(Storage::kReadOnly) ? Storage::kReadOnly : 0;
  storage->marks.store(static_cast<std::uint8_t>(Storage::kLent | Storage::kLoaned | read_only),
                       std::memory_order_relaxed);
  impl->listed.store(true, std::memory_order_relaxed);
  return lent;
}

void mark_written(const Tensor& x, const char* op) {
  if (autograd::modes().interceptors & autograd::Modes::kSelective) [[unlikely]] {
    if (const auto& watch = autograd::thread_state().access_watch) watch->note_write(*x->storage);
  }
  x->storage->bump_version(op, current_source_line());
}

void register_current_stream(DeviceType type, CurrentStream function) {
  current_stream_of[static_cast<std::size_t>(type)] = function;
}

std::string describe(const Tensor& x) {
  if (!x.defined()) return "an undefined tensor";
  std::string text = str(x.dtype(), x.shape(), " on ", x.device());
  if (x->hidden) {
    for (const HiddenAxis& axis : *x->hidden) text += str(", batched over ", axis.size);
  }
  return text;
}

std::string describe_last_write(const Tensor& x) {
  const WriteRecord write = x->storage->last_write();
  const std::string place = write.line ? str(" at ", write.line.file, ":", write.line.line) : std::string();
  return str("overwritten by ", write.op ? write.op : "an operation", place);
}

void Tensor::refuse_batched(const char* what) const {
  const HiddenAxis& axis = impl_->hidden->back();
  const auto& live = autograd::thread_state().batch_levels;
  if (std::ranges::find(live, axis.level) == live.end()) {
    fail<RuntimeError>("[", what,
                       "] this tensor was kept from a call of vmap that has ended, and holds a value for each of its ",
                       axis.size, " examples: return it from the function that vmap maps instead");
  }
  fail<RuntimeError>("[", what, "] inside of vmap this tensor stands for each of ", axis.size,
                     " examples, and has no single value to be read: compute with operators (where() in place of an "
                     "if), or return it from the function that vmap maps");
}

void Tensor::wrong_data_type(DType asked) const {
  fail<TypeError>("[data] the tensor is ", describe(*this), ", not ", asked);
}

}  // namespace lamella
