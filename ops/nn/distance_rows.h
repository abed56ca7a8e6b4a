#pragma once

#include <cstdint>
#include <utility>

#include "engine/core/tensor.h"

// Distances between the rows of matrices, and their gradients, without a tensor of all differences. Nothing is
// recorded.

namespace lamella::distance_rows {

/// True if the functions below support x.
bool has_kernel(const Tensor& x);
/// True if they support x and nothing is recorded.
bool is_measured(const Tensor& x);

/// Returns a and b with broadcast leading axes, contiguous.
std::pair<Tensor, Tensor> whole_batches(const Tensor& a, const Tensor& b, const char* op);

/// Returns the p-norms of the differences between all rows of a, [.., n, size], and of b, [.., m, size], whose leading
/// axes broadcast: [.., n, m].
Tensor all_distances(const Tensor& a, const Tensor& b, double p, const char* op);

/// Returns the distances of each row of a matrix on the CPU from all later rows.
Tensor pair_distances(const Tensor& given, double p);

/// Returns for each row of x the weighted sum of its differences from the rows of y, or of their signs. The weights are
/// [.., rows, others], or with the last axes exchanged if `across`. All are contiguous.
Tensor weighted_differences(const Tensor& x, const Tensor& y, const Tensor& weights, bool across, bool signs);

/// Returns the same sums of differences whose lengths, in the order of the weights, are known: long rows take products
/// of matrices.
Tensor weighted_differences(const Tensor& x, const Tensor& y, const Tensor& weights, const Tensor& distances,
                            bool across);

/// Returns the values of the pairs of n rows as a symmetric matrix with a zero diagonal.
Tensor square_form(const Tensor& pairs, std::int64_t n);

}  // namespace lamella::distance_rows
