#include "ops/nn/embedding.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// Returns padding_idx counted from the front, or -1 for none.
std::int64_t padding_row(std::optional<std::int64_t> padding_idx, std::int64_t rows, const char* op) {
  if (!padding_idx) return -1;
  if (*padding_idx < -rows || *padding_idx >= rows)
    fail<ValueError>("[", op, "] padding_idx must name one of the weight's ", rows, " rows, got ", *padding_idx);
  return *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
}

Tensor look_up(const Tensor& x, const Tensor& weight, const char* op) {
  const Tensor numbers = as_index(x, op);
  const Tensor chosen[] = {reshape(numbers, Dims{x.numel()})};
  const Tensor rows = pick_rows(chosen, Dims{weight.size(0)}, Dims{0}, op, NegativeIndex::Refuse);
  Dims shape = x.shape();
  shape.push_back(weight.size(1));
  return reshape(gather_rows(weight, rows), shape);
}

void check_weight(const Tensor& x, const Tensor& weight, const char* op) {
  check_defined(x, op);
  check_defined(weight, op);
  check_same_device(x, weight, op);
  if (weight.ndim() != 2) fail<ValueError>("[", op, "] weight must have the shape [rows, size], got ", weight.shape());
}

/// Returns the begin of each bag and the end of the last one. Throws ValueError if offsets do not begin at 0 or
/// decrease.
std::vector<std::int64_t> bag_limits(const Tensor& offsets, std::int64_t count, bool include_last) {
  const Tensor numbers = as_index(offsets, "embedding_bag");
  if (numbers.device().is_meta()) {  // a single bag holds everything: the shapes are the same
    std::vector<std::int64_t> limits(static_cast<std::size_t>(numbers.numel() + (include_last ? 0 : 1)), count);
    limits.front() = 0;
    return limits;
  }
  const Tensor given = contiguous(to_device(numbers, kCPU));
  std::vector<std::int64_t> limits(given.data<std::int64_t>(), given.data<std::int64_t>() + given.numel());
  if (!include_last) limits.push_back(count);
  if (limits[0] != 0) fail<ValueError>("[embedding_bag] the first of the offsets must be 0");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::int64_t next = i + 1 < limits.size() ? limits[i + 1] : count;
    if (limits[i] > next || next > count) {
      fail<ValueError>("[embedding_bag] offsets must not decrease, nor exceed the ", count, " elements of x; got ",
                       limits[i], " before ", next);
    }
  }
  return limits;
}

/// Returns for each position of x up to the last limit the number of its bag.
Tensor bag_numbers(const std::vector<std::int64_t>& limits) {
  Tensor numbers = empty({limits.back()}, DType::Int64);
  for (std::size_t bag = 0; bag + 1 < limits.size(); ++bag)
    std::fill(numbers.data<std::int64_t>() + limits[bag], numbers.data<std::int64_t>() + limits[bag + 1],
              static_cast<std::int64_t>(bag));
  return numbers;
}

/// Returns the positions in x of each bag's elements, in rows padded with `count`.
Tensor bag_places(const std::vector<std::int64_t>& limits, std::int64_t count) {
  std::int64_t longest = 0;
  for (std::size_t bag = 0; bag + 1 < limits.size(); ++bag) longest = std::max(longest, limits[bag + 1] - limits[bag]);
  Tensor places = full({static_cast<std::int64_t>(limits.size()) - 1, longest}, Scalar(count), DType::Int64, kCPU);
  for (std::size_t bag = 0; bag + 1 < limits.size(); ++bag) {
    std::int64_t* const row = places.data<std::int64_t>() + static_cast<std::int64_t>(bag) * longest;
    for (std::int64_t i = limits[bag]; i < limits[bag + 1]; ++i) row[i - limits[bag]] = i;
  }
  return places;
}

/// Returns the maximum over the counted rows of each bag, [bags, size of a bag, size]; 0 for an empty bag.
Tensor largest_in_bags(const Tensor& rows, const Tensor& counted) {
  if (rows.size(1) == 0) return sum(rows, 1);
  const Tensor filled = where(counted, rows, -std::numeric_limits<double>::infinity());
  return where(any(counted, Dims{1}), max(filled, 1), 0);
}

/// Returns a mask of the positions of x that count.
Tensor counted_places(const Tensor& x, std::int64_t padding) { return padding < 0 ? x == x : x != padding; }

/// Computes the bags of an x with one axis, split at limits.
Tensor in_bags(const Tensor& given, const Tensor& weight, const std::vector<std::int64_t>& limits,
               std::string_view mode, const std::optional<Tensor>& per_sample_weights, std::int64_t padding) {
  const auto bags = static_cast<std::int64_t>(limits.size()) - 1;
  const Tensor x = narrow(given, 0, 0, limits.back());
  Tensor rows = look_up(x, weight, "embedding_bag");
  if (mode == "max") {
    const Tensor places = to_device(bag_places(limits, x.numel()), x.device());
    // An extra last row and an extra position that does not count fill up short bags.
    const Tensor none = zeros({1}, DType::Bool, x.device());
    const Tensor counted = take(concat({counted_places(x, padding), none}, 0), places, 0);
    const Tensor filled = concat({rows, zeros({1, rows.size(1)}, rows.dtype(), rows.device())}, 0);
    return largest_in_bags(take(filled, places, 0), expand_dims(counted, -1));
  }
  const Tensor numbers = to_device(bag_numbers(limits), x.device());
  const Tensor counted = expand_dims(counted_places(x, padding), -1);
  if (per_sample_weights) rows = rows * expand_dims(narrow(*per_sample_weights, 0, 0, limits.back()), -1);
  if (padding >= 0) rows = where(counted, rows, 0);
  Tensor total = scatter_rows(rows, numbers, bags);
  if (mode == "sum") return total;
  const Tensor count = scatter_rows(cast(counted, total.dtype()), numbers, bags);
  return total / where(count == 0, 1, count);
}

}  // namespace

Tensor Embedding::call(const Tensor& x, const Tensor& weight, std::optional<std::int64_t> padding_idx) {
  check_weight(x, weight, info.name);
  const std::int64_t padding = padding_row(padding_idx, weight.size(0), info.name);
  Tensor y = look_up(x, weight, info.name);
  if (padding < 0 || !weight.requires_grad()) return y;
  return where(expand_dims(x == padding, -1), y.detach(), y);
}

Tensor EmbeddingBag::call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& offsets,
                          std::string_view mode, const std::optional<Tensor>& per_sample_weights,
                          std::optional<std::int64_t> padding_idx, bool include_last_offset) {
  check_weight(x, weight, info.name);
  if (offsets) check_same_device(x, *offsets, info.name);
  if (per_sample_weights) check_same_device(x, *per_sample_weights, info.name);
  if (mode != "sum" && mode != "mean" && mode != "max")
    fail<ValueError>("[embedding_bag] mode must be \"sum\", \"mean\" or \"max\", got \"", mode, "\"");
  if (per_sample_weights && (mode != "sum" || per_sample_weights->shape() != x.shape()))
    fail<ValueError>("[embedding_bag] per_sample_weights must have x's shape, and goes with mode \"sum\" only");
  if (x.ndim() != (offsets ? 1u : 2u))
    fail<ValueError>("[embedding_bag] x must have one axis with offsets, two without, got the shape ", x.shape());
  if (include_last_offset && (!offsets || offsets->numel() == 0))
    fail<ValueError>("[embedding_bag] include_last_offset needs offsets, of which the last is the end");
  const std::int64_t padding = padding_row(padding_idx, weight.size(0), info.name);
  if (offsets) {
    return in_bags(x, weight, bag_limits(*offsets, x.numel(), include_last_offset), mode, per_sample_weights, padding);
  }
  Tensor rows = look_up(x, weight, info.name);
  if (mode == "max" && padding < 0 && x.size(1) > 0) return max(rows, 1);
  // The mask of positions that count is computed only if some may not count.
  const Tensor counted = padding < 0 && mode != "max" ? Tensor() : expand_dims(counted_places(x, padding), -1);
  if (mode == "max") return largest_in_bags(rows, counted);
  if (per_sample_weights) rows = rows * expand_dims(*per_sample_weights, -1);
  if (padding >= 0) rows = where(counted, rows, 0);
  Tensor total = sum(rows, 1);
  if (mode == "sum") return total;
  if (padding < 0) return total / static_cast<double>(std::max<std::int64_t>(1, x.size(1)));
  const Tensor count = sum(cast(counted, total.dtype()), 1);
  return total / where(count == 0, 1, count);
}

}  // namespace lamella
