#include "engine/core/exports.h"

#include <mutex>
#include <unordered_map>

#include "engine/core/checksum.h"

namespace lamella {
namespace {

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

Export::Export(Storage& storage, bool shared) : storage_(&storage) {
  storage_->retain();
  // Imported memory stays foreign; the contents of other devices' memory are not checked.
  if (storage_->deleter || !storage_->device.is_cpu()) return;
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

bool changed_by_export(const Storage& storage, std::uint32_t version) noexcept {
  AllExports& all = all_exports();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(&storage);
  return found != all.of.end() && found->second.watched && found->second.version == version &&
         checksum(storage) != found->second.checksum;
}

}  // namespace lamella
