#include "engine/core/listed.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace lamella::detail {
namespace {

struct Listed {
  std::mutex mutex;
  std::unordered_map<const Storage*, SmallVector<TensorImpl*, 2>> of;
};

Listed& listed() {
  static auto* const all = new Listed;  // never destroyed: tensors may end later
  return *all;
}

void remove(SmallVector<TensorImpl*, 2>& tensors, const TensorImpl& x) noexcept {
  const auto* const found = std::ranges::find(tensors, &x);
  if (found != tensors.end()) tensors.erase(found);
}

}  // namespace

void list(TensorImpl& x) {
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  SmallVector<TensorImpl*, 2>& tensors = all.of[x.storage];
  if (std::ranges::find(tensors, &x) == tensors.end()) tensors.push_back(&x);
  x.listed.store(true, std::memory_order_relaxed);
}

void list_view(TensorImpl& view) {
  const std::lock_guard lock(listed().mutex);
  loan_of(*view.storage).views.push_back(&view);
  view.listed.store(true, std::memory_order_relaxed);
}

void unlist(TensorImpl& x) noexcept {
  if (x.storage->has_mark(Storage::kLoaned)) {
    Loan& loan = loan_of(*x.storage);
    if (loan.first == &x) {
      loan.first = nullptr;
    } else {
      const std::lock_guard lock(listed().mutex);
      remove(loan.views, x);
    }
    if (!x.storage->has_mark(Storage::kDeparted)) return;
  }
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(x.storage);
  if (found == all.of.end()) return;
  remove(found->second, x);
  if (found->second.empty()) all.of.erase(found);
}

void for_each_listed(const Storage& storage, const std::function<void(TensorImpl&)>& f) {
  Listed& all = listed();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(&storage);
  if (found == all.of.end()) return;
  for (TensorImpl* x : found->second) f(*x);
}

}  // namespace lamella::detail
