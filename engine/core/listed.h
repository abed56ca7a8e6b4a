#pragma once

#include <cstddef>
#include <functional>

#include "engine/core/tensor.h"

// Tensor objects that have to be found by their storage: few, so ordinary tensors pay with one test when they end.

namespace lamella::detail {

/// Memory that a storage marked kLoaned shows: what its `context` points to.
struct Loan {
  /// Keeps the memory; a reference is held.
  Storage* owner;
  char* low;
  std::size_t bytes;
  /// The tensor that was made with the storage, while it lives.
  TensorImpl* first = nullptr;
  SmallVector<TensorImpl*, 2> views;
};
inline Loan& loan_of(const Storage& storage) noexcept { return *static_cast<Loan*>(storage.context); }

/// Makes x one that for_each_listed finds, as long as it lives. Any thread may call it.
void list(TensorImpl& x);
/// Notes a view of lent memory.
void list_view(TensorImpl& view);
/// Called by a listed tensor that ends.
void unlist(TensorImpl& x) noexcept;
/// Calls f with each listed tensor on the storage. It runs under a lock: f must neither make nor free tensors.
void for_each_listed(const Storage& storage, const std::function<void(TensorImpl&)>& f);

}  // namespace lamella::detail
