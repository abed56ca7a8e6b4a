#include "engine/core/foreign.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

namespace lamella {
namespace {

/// A 64-bit additive checksum after Fletcher (IEEE Trans. Commun. 30, 1982): it depends on values and their order, and
/// runs at the speed of memory.
class Checksum {
 public:
  void add(const char* data, std::size_t bytes) noexcept {
    constexpr std::size_t kWords = kLanes * sizeof(std::uint64_t);
    while (bytes >= kWords) {
      std::uint64_t words[kLanes];
      std::memcpy(words, data, kWords);
      for (std::size_t i = 0; i < kLanes; ++i) {
        sums_[i] += words[i];
        orders_[i] += sums_[i];
      }
      data += kWords;
      bytes -= kWords;
    }
    if (bytes == 0) return;
    std::uint64_t words[kLanes] = {};
    std::memcpy(words, data, bytes);
    for (std::size_t i = 0; i < kLanes; ++i) {
      sums_[i] += words[i];
      orders_[i] += sums_[i];
    }
  }
  std::uint64_t value() const noexcept {
    std::uint64_t mixed = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      mixed = (mixed ^ sums_[i]) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 29;
      mixed = (mixed ^ orders_[i]) * 0xbf58476d1ce4e5b9u;
      mixed ^= mixed >> 32;
    }
    return mixed;
  }

 private:
  static constexpr std::size_t kLanes = 4;
  std::uint64_t sums_[kLanes] = {};
  std::uint64_t orders_[kLanes] = {};
};

void add_elements(Checksum& sum, DimsView shape, DimsView strides, const char* at, std::size_t item) {
  if (shape.empty()) return sum.add(at, item);
  const auto step = strides[0] * static_cast<std::int64_t>(item);
  if (shape.size() == 1 && strides[0] == 1) return sum.add(at, static_cast<std::size_t>(shape[0]) * item);
  for (std::int64_t i = 0; i < shape[0]; ++i, at += step) {
    add_elements(sum, shape.subspan(1), strides.subspan(1), at, item);
  }
}

std::uint64_t checksum(const Tensor& x) noexcept {
  Checksum sum;
  const std::size_t item = item_size(x.dtype());
  if (x->elements == 0) return sum.value();
  Dims shape = x.shape();
  Dims strides = x.strides();
  if (x->hidden) {
    for (const HiddenAxis& axis : *x->hidden) {
      shape.insert(shape.begin(), axis.size);
      strides.insert(strides.begin(), axis.stride);
    }
  }
  if (x->contiguous) {
    sum.add(x->data, static_cast<std::size_t>(x->elements) * item);
  } else {
    add_elements(sum, shape, strides, x->data, item);
  }
  return sum.value();
}

std::uint64_t checksum(const Storage& storage) noexcept {
  Checksum sum;
  sum.add(static_cast<const char*>(storage.data), storage.bytes);
  return sum.value();
}

/// The state of exported memory.
struct Exports {
  std::uint32_t count = 0;
  std::uint32_t version = 0;
  /// True if the memory may have been saved before it was exported.
  bool watched = false;
  std::uint64_t checksum = 0;
};

struct AllExports {
  std::mutex mutex;
  std::unordered_map<const Storage*, Exports> of;
};

AllExports& all_exports() {
  static auto* const all = new AllExports;  // never destroyed: exports may end later
  return *all;
}

}  // namespace

Export::Export(const Tensor& x, std::uint32_t holders) : storage_(x->storage) {
  storage_->retain();
  // Imported memory stays foreign; the contents of other devices' memory are not checked.
  if (storage_->deleter || !storage_->device.is_cpu()) return;
  const bool shared = x->use_count() > holders || !storage_->unique();
  AllExports& all = all_exports();
  const std::lock_guard lock(all.mutex);
  Exports& exports = all.of[storage_];
  if (exports.count++ > 0) return;
  exports.version = storage_->version();
  exports.watched = shared;
  if (shared) exports.checksum = checksum(*storage_);
  storage_->set_foreign();
}

Export::~Export() {
  if (!storage_->deleter && storage_->device.is_cpu()) {
    AllExports& all = all_exports();
    const std::lock_guard lock(all.mutex);
    const auto found = all.of.find(storage_);
    if (found != all.of.end() && --found->second.count == 0) {
      const Exports& exports = found->second;
      // A write stays recorded, as long as the memory lives, for tensors that were saved before.
      const bool written =
          exports.watched && storage_->version() == exports.version && checksum(*storage_) != exports.checksum;
      if (!written) {
        storage_->clear_foreign();
        all.of.erase(found);
      }
    }
  }
  storage_->release();
}

void forget_exports(const Storage& storage) noexcept {
  AllExports& all = all_exports();
  const std::lock_guard lock(all.mutex);
  all.of.erase(&storage);
}

std::uint32_t foreign_stamp(const Tensor& x) noexcept {
  if (!x.device().is_cpu() || !x->data) return x->storage->version_word();
  return Storage::kForeign | static_cast<std::uint32_t>(checksum(x) >> 33);
}

bool foreign_changed(const Tensor& x, std::uint32_t stamp) noexcept {
  const Storage& storage = *x->storage;
  if (stamp & Storage::kForeign) return foreign_stamp(x) != stamp;
  // The tensor was saved before the memory was exported.
  if (storage.version() != stamp) return true;
  AllExports& all = all_exports();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(&storage);
  return found != all.of.end() && found->second.watched && found->second.version == stamp &&
         checksum(storage) != found->second.checksum;
}

}  // namespace lamella
