#pragma once

#include <optional>
#include <utility>

#include "engine/core/tensor.h"
#include "ops/operand.h"

// Common parts of the histograms.

namespace lamella {

/// A number of counts that exceeds any memory.
inline constexpr std::int64_t kMostCounts = std::int64_t{1} << 48;

/// Throws RuntimeError if x has no values to count: on meta, or under vmap.
void check_values_known(const Tensor& x, const char* op);
/// True if tensors on a device are counted there; those on other devices than the CPU are moved to it.
bool counts_there(Device device);
/// Returns x flattened, as contiguous doubles.
Tensor flat_doubles(const Tensor& x);
/// Returns the edges of bins as doubles on the CPU. `bins` is their number, between the ends of `range` or of `values`,
/// or the edges.
Tensor bin_edges(const Operand& bins, const Tensor& values, const std::optional<std::pair<double, double>>& range,
                 const char* op);
/// Returns the number (int64) of the bin that contains each value, `none` for values outside; the last bin includes its
/// upper edge. `equal` says that bins have equal widths, so that a division finds them.
Tensor bin_numbers(const Tensor& values, const Tensor& edges, bool equal, std::int64_t none);

}  // namespace lamella
