#include "ops/sort/histogram.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/sort/bins.h"
#include "ops/sort/rows.h"
#include "ops/sort/search.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

constexpr std::int64_t kPart = std::int64_t{1} << 16;  // elements that are counted separately

void check_weights(const Tensor& x, const Tensor& weights, const char* op) {
  check_defined(weights, op);
  if (weights.shape() != x.shape()) {
    fail<ValueError>("[", op, "] weights must have x's shape, ", x.shape(), ", got ", weights.shape());
  }
  check_dtype(weights, Real | Boolean, op);
  check_values_known(weights, op);
  check_same_device(x, weights, op);
}

/// Returns the weights of x's elements; undefined if there are none.
Tensor checked_weights(const Tensor& x, const std::optional<Tensor>& weights, const char* op) {
  if (!weights) return {};
  check_weights(x, *weights, op);
  return flat_doubles(*weights);
}

/// Returns the largest of n numbers read as unsigned, so that a negative one exceeds all others.
std::uint64_t largest_unsigned(const std::int64_t* x, std::int64_t n) {
  constexpr auto kMax = static_cast<std::size_t>(cpu::Reduction::Max);
  constexpr auto kUnsigned = static_cast<std::size_t>(DType::UInt64);
  const auto kernel = require_kernel(cpu_kernels().reduce.rows[kMax][kUnsigned], "bincount", DType::UInt64);
  const std::int64_t parts = (n + kPart - 1) / kPart;
  std::vector<std::uint64_t> most(static_cast<std::size_t>(parts));
  parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      kernel(x + p * kPart, 1, std::min(kPart, n - p * kPart), 1, 0, &most[static_cast<std::size_t>(p)]);
  });
  return *std::ranges::max_element(most);
}

/// Returns the largest of the numbers, -1 if there are none. Throws ValueError if one is negative.
std::int64_t largest_number(const Tensor& values) {
  if (values.numel() == 0) return -1;
  const auto refuse = [](std::int64_t least) { fail<ValueError>("[bincount] x cannot be negative, got ", least); };
  if (!values.device().is_cpu()) {
    const auto read = [](const Tensor& y) { return *to_device(y, kCPU).data<std::int64_t>(); };
    if (const std::int64_t least = read(min(values)); least < 0) refuse(least);
    return read(max(values));
  }
  const auto* const at = values.data<std::int64_t>();
  const auto largest = static_cast<std::int64_t>(largest_unsigned(at, values.numel()));
  if (largest < 0) refuse(*std::min_element(at, at + values.numel()));
  return largest;
}

/// Returns for each of `count` numbers how often it is among the values, or the sum of the weights there; on a device
/// where counts_there().
Tensor counts_of(const Tensor& values, const Tensor& weights, std::int64_t count) {
  if (weights.defined()) return reshape(scatter_rows(reshape(weights, {-1, 1}), values, count), {count});
  const Tensor ordered = sorted_rows(values, false, "bincount");
  return diff(searchsorted(ordered, arange(0, count + 1, 1, DType::Int64, values.device())));
}

/// Adds sums[x[i]] += amount(i) for n numbers below `count`, from `first` on. With few sums, neighboring numbers use
/// separate tables: two additions to the same place in a row stall, until it is known that they differ.
template <class Sum, class Amount>
void add_part(const std::int64_t* x, std::int64_t first, std::int64_t n, std::int64_t count, Sum* sums,
              Amount&& amount) {
  constexpr std::int64_t kTables = 4;
  constexpr std::int64_t kFew = 1024;
  std::int64_t i = first;
  const std::int64_t end = first + n;
  if (count <= kFew && n >= kTables * count) {
    std::vector<Sum> tables(static_cast<std::size_t>(kTables * count));
    for (; i + kTables <= end; i += kTables) {
      for (std::int64_t k = 0; k < kTables; ++k)
        tables[static_cast<std::size_t>(x[i + k] * kTables + k)] += amount(i + k);
    }
    for (std::int64_t bin = 0; bin < count; ++bin) {
      for (std::int64_t k = 0; k < kTables; ++k) sums[bin] += tables[static_cast<std::size_t>(bin * kTables + k)];
    }
  }
  for (; i < end; ++i) sums[x[i]] += amount(i);
}

/// Adds sums[x[i]] += amount(i) for all n numbers, on several threads if there are few sums. The parts, and the order
/// in which they are added, do not depend on the number of threads.
template <class Sum, class Amount>
void add_up(const std::int64_t* x, std::int64_t n, std::int64_t count, Sum* sums, Amount&& amount) {
  if (n <= kPart || count > kPart / 16) return add_part(x, 0, n, count, sums, amount);
  const std::int64_t parts = (n + kPart - 1) / kPart;
  std::vector<Sum> partial(static_cast<std::size_t>(parts * count));
  parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      add_part(x, p * kPart, std::min(kPart, n - p * kPart), count, partial.data() + p * count, amount);
  });
  for (std::int64_t p = 0; p < parts; ++p) {
    for (std::int64_t bin = 0; bin < count; ++bin) sums[bin] += partial[static_cast<std::size_t>(p * count + bin)];
  }
}

}  // namespace

Tensor BinCount::call(const Tensor& x, const std::optional<Tensor>& weights, std::int64_t minlength) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  check_values_known(x, info.name);
  if (!x.device().is_cpu() && !counts_there(x.device())) {
    const auto host_weights = weights ? std::optional(moved(*weights, kCPU)) : std::nullopt;
    return on_host(info.name, x.device(), [&](const Tensor& host) { return call(host, host_weights, minlength); }, x);
  }
  if (x.ndim() != 1) fail<ValueError>("[bincount] x must have one axis, got shape ", x.shape());
  if (minlength < 0) fail<ValueError>("[bincount] minlength cannot be negative, got ", minlength);
  if (weights) check_weights(x, *weights, info.name);
  const autograd::NoGrad no_grad;
  const Tensor values = contiguous(as_index(x, info.name));
  const std::int64_t n = values.numel();
  const std::int64_t largest = largest_number(values);
  if (largest >= kMostCounts) fail<ValueError>("[bincount] x needs ", largest, " counts, which do not fit into memory");
  const std::int64_t count = std::max(minlength, largest + 1);
  Tensor result = zeros({count}, weights ? DType::Float64 : DType::Int64, kCPU);
  const auto* const at = values.data<std::int64_t>();
  if (!values.device().is_cpu()) {
    result = counts_of(values, weights ? flat_doubles(*weights) : Tensor(), count);
  } else if (weights && weights->dtype() == DType::Float32) {
    const Tensor weight = contiguous(reshape(*weights, Dims{-1}));
    const auto* const weight_of = weight.data<float>();
    add_up(at, n, count, result.data<double>(),
           [weight_of](std::int64_t i) { return static_cast<double>(weight_of[i]); });
  } else if (weights) {
    const Tensor weight = flat_doubles(*weights);
    const auto* const weight_of = weight.data<double>();
    add_up(at, n, count, result.data<double>(), [weight_of](std::int64_t i) { return weight_of[i]; });
  } else {
    add_up(at, n, count, result.data<std::int64_t>(), [](std::int64_t) { return std::int64_t{1}; });
  }
  if (!weights) return result;
  const Tensor sums = weights->dtype() == DType::Float32 ? cast(result, DType::Float32) : result;
  note_constant(info.name, {&*weights}, sums);
  return sums;
}

std::vector<Tensor> Histogram::call(const Tensor& x, const Operand& bins,
                                    const std::optional<std::pair<double, double>>& range,
                                    const std::optional<Tensor>& weights, bool density) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  check_values_known(x, info.name);
  const Device device = x.device();
  if (!device.is_cpu() && !counts_there(device)) {
    const auto host_weights = weights ? std::optional(moved(*weights, kCPU)) : std::nullopt;
    const Operand host_bins = bins.is_number() ? bins : Operand(moved(bins.tensor(), kCPU));
    const auto run_there = [&](const Tensor& host) { return call(host, host_bins, range, host_weights, density); };
    return on_host(info.name, x.device(), run_there, x);
  }
  const autograd::NoGrad no_grad;
  const Tensor weight = checked_weights(x, weights, info.name);
  const Tensor values = flat_doubles(x);
  const Tensor edges = bin_edges(bins, values, range, info.name);
  const std::int64_t count = edges.numel() - 1;
  const double* const edge = edges.data<double>();
  // Values outside of all bins are counted behind the last one.
  const Tensor numbers = bin_numbers(values, edges, bins.is_number(), count);
  Tensor all = zeros({count + 1}, DType::Float64, kCPU);
  const auto* const number = numbers.data<std::int64_t>();
  const auto* const weight_of = weight.defined() ? weight.data<double>() : nullptr;
  const HostRelease release(values.numel());
  if (!device.is_cpu()) {
    all = to_device(cast(counts_of(numbers, weight, count + 1), DType::Float64), kCPU);
  } else if (weight_of) {
    add_up(number, values.numel(), count + 1, all.data<double>(), [=](std::int64_t i) { return weight_of[i]; });
  } else {
    add_up(number, values.numel(), count + 1, all.data<double>(), [](std::int64_t) { return 1.0; });
  }
  Tensor sums = narrow(all, 0, 0, count);
  if (density) {
    auto* const sum_of = sums.data<double>();
    const double total = std::accumulate(sum_of, sum_of + count, 0.0);
    for (std::int64_t bin = 0; bin < count; ++bin) sum_of[bin] /= total * (edge[bin + 1] - edge[bin]);
  }
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : kDefaultFloat;
  std::vector<Tensor> result{to_device(cast(contiguous(sums), dtype), device),
                             bins.is_number() ? to_device(cast(edges, dtype), device) : bins.tensor()};
  note_constant(info.name, {&x}, result[0]);
  return result;
}

}  // namespace lamella
