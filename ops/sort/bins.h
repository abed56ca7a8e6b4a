#pragma once

#include <optional>
#include <utility>

#include "engine/core/tensor.h"
#include "ops/operand.h"

// What the histograms have in common.

namespace lamella {

/// Beyond what memory holds.
inline constexpr std::int64_t kMostCounts = std::int64_t{1} << 48;

/// RuntimeError for what has no values to count: meta tensors and those that vmap maps over.
void check_values_known(const Tensor& x, const char* op);
/// x as contiguous doubles in one axis.
Tensor flat_doubles(const Tensor& x);
/// The edges of bins, as doubles: `bins` is their number, between the ends of `range` or of `values`, or the edges.
Tensor bin_edges(const Operand& bins, const Tensor& values, const std::optional<std::pair<double, double>>& range,
                 const char* op);
/// The number, an int64, of the bin that each of some doubles lies in, `none` for those outside: the last bin has its
/// upper edge. `equal`: whether the bins are of equal widths, and so found by a division.
Tensor bin_numbers(const Tensor& values, const Tensor& edges, bool equal, std::int64_t none);

}  // namespace lamella
