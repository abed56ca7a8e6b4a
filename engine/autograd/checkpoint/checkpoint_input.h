#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/autograd/saved/saved_tensor.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Input of a checkpoint's function, kept off the tape for the second run, with its tangents: a level of forward mode
/// may have ended by then, and have taken those of the input itself along.
class CheckpointInput {
 public:
  /// Keeps x, which may be undefined; `label` stands for the checkpoint in messages.
  CheckpointInput(const Tensor& x, const Node& label);

  /// Returns the input as a new leaf, with its tangents at the levels that the thread is in. RuntimeError where it, the
  /// input at `position`, was written to since.
  Tensor unpack(Node& label, std::size_t position, SourceLine saved_at) const;
  const SavedTensor& saved() const noexcept { return value_; }

 private:
  SavedTensor value_;
  bool wants_gradient_ = false;
  std::vector<std::pair<std::uint64_t, CheckpointInput>> tangents_;
};

}  // namespace lamella::autograd
