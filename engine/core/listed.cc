#include "engine/core/listed.h"

#include <mutex>
#include <unordered_map>

namespace lamella::detail {
namespace {

struct Listed {
  std::mutex mutex;
  std::unordered_map<const Storage*, SmallVector<TensorImpl*, 2>> of;
};

Listed& listed() {
  static auto* const all = new Listed;  // never destroyed: tensors may end after it would be
  return *all;
}

}  // namespace

void list(TensorImpl& x) {
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  if (x.listed.load(std::memory_order_relaxed)) return;
  all.of[x.storage].push_back(&x);
  x.listed.store(true, std::memory_order_relaxed);
}

void unlist(TensorImpl& x) noexcept {
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(x.storage);
  if (found == all.of.end()) return;
  auto& tensors = found->second;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] != &x) continue;
    tensors[i] = tensors.back();
    tensors.pop_back();
    break;
  }
  if (tensors.empty()) all.of.erase(found);
}

void for_each_listed(const Storage& storage, const std::function<void(TensorImpl&)>& f) {
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(&storage);
  if (found == all.of.end()) return;
  for (TensorImpl* x : found->second) f(*x);
}

}  // namespace lamella::detail
