#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/graph/spin_lock.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/saved/saved_tensor.h"
#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

class CheckpointFrame;

/// Stands for a tensor that was saved in the first run of a checkpoint's function; holds the tensor that the second run
/// saved in its place, for each pass that asked.
class CheckpointHolder {
 public:
  CheckpointHolder(std::shared_ptr<CheckpointFrame> frame, std::string op, const Tensor& x)
      : frame(std::move(frame)), op(std::move(op)), meta(x) {}

  const std::shared_ptr<CheckpointFrame> frame;
  const std::string op;
  const TensorMeta meta;

  void set(std::uint64_t key, const Tensor& x) {
    const std::lock_guard lock(lock_);
    values_.push_back({key, x, x.version()});
  }
  /// Returns the value for a pass; undefined where there is none. RuntimeError where the function wrote into it after
  /// it was saved.
  Tensor get(std::uint64_t key) const {
    Value value;
    {
      const std::lock_guard lock(lock_);
      const auto found = std::ranges::find(values_, key, &Value::key);
      if (found == values_.end()) return {};
      value = *found;
    }
    if (value.x.version() != value.version) {
      fail<RuntimeError>("[checkpoint] a tensor that ", op, " saved in the function (", describe(value.x), ") was ",
                         describe_last_write(value.x), "; write into a copy instead (clone())");
    }
    return value.x;
  }
  void drop(std::uint64_t key) {
    Tensor dropped;  // freed after the lock
    const std::lock_guard lock(lock_);
    const auto found = std::ranges::find(values_, key, &Value::key);
    if (found == values_.end()) return;
    dropped = std::move(found->x);
    values_.erase(found);
  }

 private:
  struct Value {
    std::uint64_t key = 0;
    Tensor x;
    std::uint32_t version = 0;
  };

  mutable SpinLock lock_;
  std::vector<Value> values_;
};

}  // namespace lamella::autograd
