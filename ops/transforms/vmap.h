#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd/vmap/vmap_rule.h"
#include "engine/core/tensor.h"
#include "ops/transforms/functional.h"

namespace lamella::autograd {

/// The mapped axis of each tensor, which may count from the end; nothing for a tensor that all examples share. A single
/// entry stands for all tensors.
using MappedAxes = std::vector<std::optional<std::int64_t>>;

struct VmapOptions {
  MappedAxes in_axes = {0};
  /// Position of the mapped axis in each result; nothing for a result that all examples share, which is returned once.
  MappedAxes out_axes = {0};
  Randomness randomness = Randomness::Error;
  /// Largest number of examples per call; without a value, all at once.
  std::optional<std::int64_t> chunk_size = std::nullopt;
};

/// Returns a function that computes `function`, written for one example, for each example of a batch: in one call,
/// whose operators work on all examples at once. It is recorded as usual, and may be mapped, or differentiated, in
/// turn; gradients taken inside of `function` are those of each example.
///
/// The returned function throws ValueError if no argument is mapped, if sizes differ, or if the number of axes does not
/// fit; IndexError for an axis out of range.
TensorFunction vmap(TensorFunction function, VmapOptions options = {});
/// Returns the mapped function for a function of one tensor with one result.
std::function<Tensor(const Tensor&)> vmap(std::function<Tensor(const Tensor&)> function, VmapOptions options = {});

}  // namespace lamella::autograd
