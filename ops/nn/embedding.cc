#include "ops/nn/embedding.h"

#include <algorithm>
#include <limits>

#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// padding_idx counted from the front; -1 for none.
std::int64_t padding_row(std::optional<std::int64_t> padding_idx, std::int64_t rows, const char* op) {
  if (!padding_idx) return -1;
  if (*padding_idx < -rows || *padding_idx >= rows)
    fail<ValueError>("[", op, "] padding_idx ", *padding_idx, " is no row of a weight with ", rows, " rows");
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
  if (weight.ndim() != 2) fail<ValueError>("[", op, "] weight must have the shape [rows, size], got ", weight.shape());
}

/// For each place of x, flat, the number of its bag; ValueError for offsets that do not begin at 0 or decrease.
Tensor bag_numbers(const Tensor& offsets, std::int64_t count) {
  if (offsets.device().is_meta()) return empty({count}, DType::Int64, offsets.device());
  const Tensor begins = contiguous(to_device(as_index(offsets, "embedding_bag"), kCPU));
  const Tensor numbers = empty({count}, DType::Int64);
  const auto* begin = begins.data<std::int64_t>();
  auto* to = numbers.data<std::int64_t>();
  const std::int64_t bags = begins.numel();
  if (bags == 0 ? count > 0 : begin[0] != 0) fail<ValueError>("[embedding_bag] the first of the offsets must be 0");
  for (std::int64_t bag = 0; bag < bags; ++bag) {
    const std::int64_t end = bag + 1 < bags ? begin[bag + 1] : count;
    if (begin[bag] > end || end > count) {
      fail<ValueError>("[embedding_bag] offsets must not decrease, nor exceed the ", count, " elements of x; got ",
                       begin[bag], " before ", end);
    }
    for (std::int64_t i = begin[bag]; i < end; ++i) to[i] = bag;
  }
  return numbers;
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
                          std::optional<std::int64_t> padding_idx) {
  check_weight(x, weight, info.name);
  if (mode != "sum" && mode != "mean" && mode != "max")
    fail<ValueError>("[embedding_bag] mode must be \"sum\", \"mean\" or \"max\", got \"", mode, "\"");
  if (per_sample_weights && (mode != "sum" || per_sample_weights->shape() != x.shape()))
    fail<ValueError>("[embedding_bag] per_sample_weights must have x's shape, and goes with mode \"sum\" only");
  if (x.ndim() != (offsets ? 1u : 2u))
    fail<ValueError>("[embedding_bag] x must have one axis with offsets, two without, got the shape ", x.shape());
  if (offsets && mode == "max") fail<NotImplementedError>("[embedding_bag] mode \"max\" takes no offsets");
  const std::int64_t padding = padding_row(padding_idx, weight.size(0), info.name);
  Tensor rows = look_up(x, weight, info.name);
  if (mode == "max" && padding < 0 && x.size(1) > 0) return max(rows, 1);
  // What counts is looked at only where something may not.
  const Tensor counted = padding < 0 && !offsets ? Tensor() : expand_dims(padding < 0 ? x == x : x != padding, -1);
  if (mode == "max") {
    if (x.size(1) == 0) return sum(rows, 1);
    const Tensor filled = where(counted, rows, -std::numeric_limits<double>::infinity());
    const Tensor some = any(counted, Dims{1});
    return where(some, max(filled, 1), 0);
  }
  if (per_sample_weights) rows = rows * expand_dims(*per_sample_weights, -1);
  if (padding >= 0) rows = where(counted, rows, 0);
  const auto in_bags = [&](const Tensor& values) {
    if (!offsets) return sum(values, 1);
    const Tensor numbers = to_device(bag_numbers(*offsets, x.numel()), x.device());
    return scatter_rows(values, numbers, offsets->numel());
  };
  Tensor total = in_bags(rows);
  if (mode == "sum") return total;
  if (padding < 0 && !offsets) return total / static_cast<double>(std::max<std::int64_t>(1, x.size(1)));
  const Tensor count = in_bags(cast(counted, total.dtype()));
  return total / where(count == 0, 1, count);
}

}  // namespace lamella
