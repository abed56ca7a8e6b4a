#pragma once

#include <optional>

#include "ATen/core/Tensor.h"
#include "c10/util/MaybeOwned.h"

namespace at {

/// A reference to a tensor, or nothing.
class OptionalTensorRef {
 public:
  OptionalTensorRef() = default;
  OptionalTensorRef(const Tensor& x) : tensor_(x.defined() ? &x : nullptr) {}
  bool has_value() const { return tensor_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const Tensor& getTensorRef() const& { return *tensor_; }
  const Tensor& operator*() const& { return *tensor_; }
  const Tensor* operator->() const { return tensor_; }

 private:
  const Tensor* tensor_ = nullptr;
};

/// Returns the tensor, or an undefined one if there is none.
inline c10::MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor>& x) {
  return x ? c10::MaybeOwned<Tensor>::borrowed(*x) : c10::MaybeOwned<Tensor>::owned(Tensor());
}

}  // namespace at
