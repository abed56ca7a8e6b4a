#pragma once

#include <cstddef>
#include <functional>

#include "engine/core/small_vector.h"
#include "engine/core/tensor_impl.h"

// A list of tensor objects that must be found by their storage. They are few, so that ordinary tensors pay with one
// test when they end.

namespace lamella::detail {

/// The memory shown by a storage marked kLoaned; its `context` points to this.
struct Loan {
  /// Owner of the memory, with a reference held.
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
/// Records a view of lent memory.
void list_view(TensorImpl& view);
/// Removes a listed tensor that ends.
void unlist(TensorImpl& x) noexcept;
/// Calls f with each listed tensor on the storage. Runs under a lock: f must not create or free tensors.
void for_each_listed(const Storage& storage, const std::function<void(TensorImpl&)>& f);

}  // namespace lamella::detail
