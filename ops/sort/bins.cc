#include "ops/sort/bins.h"

#include <algorithm>
#include <cmath>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/reshape.h"
#include "ops/sort/search.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns the outer edges of equal bins.
std::pair<double, double> ends_of(const Tensor& values, const std::optional<std::pair<double, double>>& range,
                                  const char* op) {
  double low = range ? range->first : 0;
  double high = range ? range->second : 0;
  if (low > high) fail<ValueError>("[", op, "] range must go from low to high, got (", low, ", ", high, ")");
  const auto n = values.numel();
  if (low == high && n == 0 && !range) return {0, 1};
  if (low == high && n > 0 && !values.device().is_cpu()) {
    const auto read = [](const Tensor& y) { return *to_device(y, kCPU).data<double>(); };
    low = read(min(values));  // NaN if one of them is
    high = read(max(values));
  } else if (low == high && n > 0) {
    const auto* const x = values.data<double>();
    const auto [least, most] = std::minmax_element(x, x + n);
    low = *least;
    high = *most;
    // NaN compares false with everything, so it is searched for separately.
    if (std::any_of(x, x + n, [](double v) { return std::isnan(v); })) low = high = std::nan("");
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    fail<ValueError>("[", op, "] the ends of the bins must be finite, got (", low, ", ", high,
                     "); give a range where x holds infinities or NaN");
  }
  return low == high ? std::pair(low - 0.5, high + 0.5) : std::pair(low, high);
}

}  // namespace

void check_values_known(const Tensor& x, const char* op) {
  if (is_batched(x)) {
    fail<RuntimeError>("[", op, "] counts the elements of a whole tensor and cannot run under vmap; call it outside");
  }
  if (x.device().is_meta()) fail<RuntimeError>("[", op, "] needs values, which a meta tensor does not have");
  if (!x.device().is_cpu() && !counts_there(x.device())) require_fallback(op, x.device());
}

bool counts_there(Device device) {
  return has_device_kernel<&DeviceKernels::search_sorted>(device) &&
         has_device_kernel<&DeviceKernels::scatter_rows>(device);
}

Tensor flat_doubles(const Tensor& x) { return contiguous(reshape(cast(x, DType::Float64), Dims{-1})); }

Tensor bin_edges(const Operand& bins, const Tensor& values, const std::optional<std::pair<double, double>>& range,
                 const char* op) {
  if (bins.is_number()) {
    if (bins.number().kind() != Scalar::Kind::Int)
      fail<TypeError>("[", op, "] bins must be an int or a tensor of edges");
    const auto count = bins.number().to<std::int64_t>();
    if (count < 1 || count >= kMostCounts)
      fail<ValueError>("[", op, "] the number of bins must be at least 1 and fit into memory, got ", count);
    const auto [low, high] = ends_of(values, range, op);
    Tensor edges = empty({count + 1}, DType::Float64);
    const double width = (high - low) / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) edges.data<double>()[i] = low + static_cast<double>(i) * width;
    edges.data<double>()[count] = high;
    return edges;
  }
  const Tensor& given = bins.tensor();
  check_values_known(given, op);
  if (range) fail<ValueError>("[", op, "] range needs a number of bins; leave it out if bins holds their edges");
  if (given.ndim() != 1 || given.numel() < 2) {
    fail<ValueError>("[", op, "] the edges of the bins must have one axis of at least 2 elements, got shape ",
                     given.shape());
  }
  Tensor edges = to_device(flat_doubles(given), kCPU);
  const double* const at = edges.data<double>();
  if (!std::is_sorted(at, at + edges.numel()))
    fail<ValueError>("[", op, "] the edges of the bins must be in ascending order");
  return edges;
}

Tensor bin_numbers(const Tensor& values, const Tensor& edges, bool equal, std::int64_t none) {
  constexpr std::int64_t kGrain = 16384;
  const std::int64_t last = edges.numel() - 2;
  if (const Device device = values.device(); !device.is_cpu()) {
    const Tensor at = subtract(searchsorted(to_device(edges, device), values, "right"), 1);
    const Tensor inside =
        logical_and(greater_equal(values, edges.data<double>()[0]), less_equal(values, edges.data<double>()[last + 1]));
    return where(inside, minimum(at, last), none);
  }
  const auto* const edge = edges.data<double>();
  const auto* const value = values.data<double>();
  // For unequal bins, the index of the first edge above each value; for equal ones, uninitialized.
  const Tensor numbers = equal ? empty(values.shape(), DType::Int64) : searchsorted(edges, values, "right");
  auto* const number = numbers.data<std::int64_t>();
  const double low = edge[0];
  const double high = edge[last + 1];
  const double per_width = static_cast<double>(last + 1) / (high - low);
  const HostRelease release(values.numel());
  parallel_for(0, values.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double x = value[i];
      std::int64_t bin = 0;
      if (!(x >= low && x <= high)) {
        bin = none;
      } else if (equal) {
        // 0 / 0 or infinite if the edges are adjacent numbers.
        const double quotient = (x - low) * per_width;
        bin = quotient > 0 ? static_cast<std::int64_t>(std::min(quotient, static_cast<double>(last))) : 0;
        // The rounded quotient may be beyond an edge.
        while (bin > 0 && x < edge[bin]) --bin;
        while (bin < last && x >= edge[bin + 1]) ++bin;
      } else {
        bin = std::min(number[i] - 1, last);
      }
      number[i] = bin;
    }
  });
  return numbers;
}

}  // namespace lamella
