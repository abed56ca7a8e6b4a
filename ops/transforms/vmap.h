#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd/vmap/vmap_rule.h"
#include "engine/core/tensor.h"
#include "ops/transforms/functional.h"

namespace lamella::autograd {

/// For each tensor the axis that is mapped over, which may count from the end; nothing for one that is the same for all
/// examples. One entry stands for all tensors.
using MappedAxes = std::vector<std::optional<std::int64_t>>;

struct VmapOptions {
  MappedAxes in_axes = {0};
  /// Where the mapped axis stands in each result; nothing for a result that is the same for all examples, which is then
  /// given once.
  MappedAxes out_axes = {0};
  Randomness randomness = Randomness::Error;
  /// So many examples at a time; all at once where there is none.
  std::optional<std::int64_t> chunk_size = std::nullopt;
};

/// A function that computes `function`, which is written for one example, for each of a batch: as one call, whose
/// operators work on all examples at once. It is recorded as any other, and may be mapped, or differentiated, in turn;
/// gradients taken inside of `function` are those of each example.
///
/// The result raises ValueError where no argument is mapped, where sizes differ, and where the number of axes does not
/// fit; IndexError for an axis out of range.
TensorFunction vmap(TensorFunction function, VmapOptions options = {});
/// The same for a function of one tensor that gives one.
std::function<Tensor(const Tensor&)> vmap(std::function<Tensor(const Tensor&)> function, VmapOptions options = {});

}  // namespace lamella::autograd
