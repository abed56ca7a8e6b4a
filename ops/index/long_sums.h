#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/dtype.h"
#include "ops/cpu/tables/index_loops.h"

// Sums of very many addends per element. A float32 sum of n addends, one added after the other, has a relative error of
// up to n 2^-24, and no longer grows at all once an addend is less than that part of it: after 2^24 ones, or far
// earlier where a padding token fills most of a batch. Elements that many picks add to are therefore emptied every few
// thousand picks into sums in float64. This costs nothing for the others, and the loops stay as they are.

namespace lamella {

/// True if sums of `count` addends in this dtype are worth a look for elements that many of them go to.
bool may_sum_long(DType dtype, std::int64_t count);

/// Returns positions in [0, count), a few per thousand and spread at random but always the same, from which
/// frequent_keys() estimates how often keys occur.
std::vector<std::int64_t> sample_positions(std::int64_t count);

/// Returns, sorted, the keys that occur in a sample so often that more than about a thousand of all picks have them.
std::vector<std::int64_t> frequent_keys(std::vector<std::int64_t> sample);

/// Number of picks after which `keys` frequent keys are emptied, so that this takes a small part of the time.
std::int64_t picks_between(std::size_t keys);

/// Sums in float64 of elements of float32 or complex64 that receive very many addends.
class LongSums {
 public:
  /// `elements` are the first ones of rows of `size` elements that lie `step` bytes apart.
  LongSums(DType dtype, std::vector<char*> elements, std::int64_t size, std::int64_t step);

  /// Moves what the elements hold into the sums, which leaves zeros.
  void collect();
  /// Writes the sums into the elements, rounded once.
  void finish();

 private:
  /// Calls visit(element, sum) for each float of the elements.
  template <class Visit>
  void for_each(Visit&& visit);

  std::vector<char*> elements_;
  std::int64_t size_;
  std::int64_t step_;
  std::int64_t floats_;  ///< per element
  std::vector<double> sums_;
};

}  // namespace lamella
