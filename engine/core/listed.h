#pragma once

#include <functional>

#include "engine/core/tensor.h"

// Tensor objects that have to be found by their storage: few, so ordinary tensors pay with one test when they end.

namespace lamella::detail {

/// Makes x one that for_each_listed finds, as long as it lives. Any thread may call it.
void list(TensorImpl& x);
/// Called by a listed tensor that ends.
void unlist(TensorImpl& x) noexcept;
/// Calls f with each listed tensor on the storage. It runs under a lock: f must neither make nor free tensors.
void for_each_listed(const Storage& storage, const std::function<void(TensorImpl&)>& f);

}  // namespace lamella::detail
