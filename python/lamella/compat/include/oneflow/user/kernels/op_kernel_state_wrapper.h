#pragma once

// States of kernels that hold one object: docs/compat.md.

#include <utility>

#include "oneflow/core/framework/framework.h"

namespace oneflow {

/// A kernel's state that is a T.
template <class T>
class OpKernelStateWrapper final : public user_op::OpKernelState {
 public:
  template <class... Args>
  explicit OpKernelStateWrapper(Args&&... args) : data_(std::forward<Args>(args)...) {}

  const T& Get() const { return data_; }
  T* Mutable() { return &data_; }

 private:
  T data_;
};

}  // namespace oneflow
