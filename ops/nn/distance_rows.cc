#include "ops/nn/distance_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

// Note [Distances by products]
// |a - b|^2 = |a|^2 - 2 ab + |b|^2 turns the distances of long rows into a product of matrices, but loses all digits
// where rows are near one another, and so does its gradient. So all rows are first moved by the mean of one side, which
// changes no distance, and pairs that are still near beside their lengths are subtracted after all.

namespace lamella::distance_rows {
namespace {

constexpr std::int64_t kGrain = 16384;  // differences per task
/// Number of rows from which a matrix product pays.
constexpr std::int64_t kFewRows = 25;
/// Square of a distance, as a share of |a|^2 + |b|^2, from which its digits are those of the product.
constexpr double kFar = 0.25;

/// Calls run(kernels, T()) with the kernels for x's dtype.
template <class F>
void with_kernel(const Tensor& x, F&& run) {
  const cpu::DistanceTable& table = cpu_kernels().distance;
  if (x.dtype() == DType::Float32) {
    run(table.float32, float());
  } else {
    run(table.float64, double());
  }
}

/// The rows of two matrices, moved by the mean of the second one's, and the squares of their lengths.
struct CenteredRows {
  Tensor from;
  Tensor to;
  Tensor own;
  Tensor other;

  CenteredRows(const Tensor& x, const Tensor& y) {
    const Tensor center = mean(y, Dims{-2}, true);
    from = subtract(x, center);
    to = subtract(y, center);
    own = square_sum(from, Dims{-1});
    other = square_sum(to, Dims{-1});
  }
};

bool pays_by_products(const Tensor& x, const Tensor& y, double p) {
  return p == 2 && x.size(-1) > cpu::kShortRow && (x.size(-2) > kFewRows || y.size(-2) > kFewRows);
}

/// Returns the distances with p = 2 between the rows of x and y; see Note [Distances by products].
Tensor distances_by_products(const Tensor& x, const Tensor& y) {
  const CenteredRows centered(x, y);
  const auto& [from, to, own, other] = centered;
  Tensor out = matmul(multiply(from, -2), matrix_transpose(to));
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = y.size(-2);
  const std::int64_t width = x.size(-1);
  const HostRelease release(out.numel());
  with_kernel(x, [&]<class T>(const cpu::DistanceKernels<T>& kernels, T) {
    parallel_for(
        0, own.numel(), std::max<std::int64_t>(1, kGrain / columns), [&](std::int64_t begin, std::int64_t end) {
          std::vector<char> near(static_cast<std::size_t>(columns));
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t first = r / rows * columns;
            const T* const lengths = other.data<T>() + first;
            T* const results = out.data<T>() + r * columns;
            const T length = own.data<T>()[r];
            bool any_near = false;
            for (std::int64_t j = 0; j < columns; ++j) {
              const T both = length + lengths[j];
              const T square = results[j] + both;
              const bool is_near = !(square >= static_cast<T>(kFar) * both && both <= std::numeric_limits<T>::max() &&
                                     both >= std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
              near[static_cast<std::size_t>(j)] = is_near;
              any_near |= is_near;
              results[j] = std::sqrt(is_near ? T(0) : square);
            }
            if (!any_near) continue;
            for (std::int64_t j = 0, n = 1; j < columns; j += n) {
              const auto at = near.begin() + j;
              n = std::find(at, near.end(), static_cast<char>(!*at)) - at;
              if (*at)
                kernels.distances(x.data<T>() + r * width, y.data<T>() + (first + j) * width, results + j, n, width, 2);
            }
          }
        });
  });
  return out;
}

}  // namespace

bool has_kernel(const Tensor& x) {
  const bool there = x.device().is_cpu() || (has_device_kernel<&DeviceKernels::row_distances>(x.device()) &&
                                             has_device_kernel<&DeviceKernels::weighted_differences>(x.device()));
  return there && (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) && !is_batched(x);
}

bool is_measured(const Tensor& x) { return has_kernel(x) && !is_followed(x) && !autograd::is_tracing(); }

std::pair<Tensor, Tensor> whole_batches(const Tensor& a, const Tensor& b, const char* op) {
  const Dims batch =
      broadcast_shapes(DimsView(a.shape()).first(a.ndim() - 2), DimsView(b.shape()).first(b.ndim() - 2), op);
  const auto whole = [&](const Tensor& x) {
    Dims shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return contiguous(broadcast_to(x, shape));
  };
  return {whole(a), whole(b)};
}

Tensor all_distances(const Tensor& a, const Tensor& b, double p, const char* op) {
  const auto whole = whole_batches(a, b, op);
  const Tensor& x = whole.first;
  const Tensor& y = whole.second;
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = b.size(-2);
  const std::int64_t width = a.size(-1);
  Dims shape = x.shape();
  shape.back() = columns;
  Tensor out = empty(shape, x.dtype(), x.device());
  if (out.numel() == 0) return out;
  if (!x.device().is_cpu()) {
    device_kernel<&DeviceKernels::row_distances>(x.device(), op)(x, y, p, out, op);
    return out;
  }
  if (pays_by_products(x, y, p)) return distances_by_products(x, y);
  const bool is_short = width > 0 && width <= cpu::kShortRow;
  const Tensor across = is_short ? contiguous(matrix_transpose(y)) : Tensor();
  const HostRelease release(out.numel() * width);
  with_kernel(x, [&]<class T>(const cpu::DistanceKernels<T>& kernels, T) {
    parallel_for(0, out.numel() / columns,
                 std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin, n = 1; r < end; r += n) {
                     const T* const row = x.data<T>() + r * width;
                     T* const to = out.data<T>() + r * columns;
                     const std::int64_t other = r / rows * columns * width;
                     if (is_short) {
                       n = std::min(end, (r / rows + 1) * rows) - r;
                       kernels.short_distances(row, n, across.data<T>() + other, columns, to, columns, width, p);
                     } else {
                       kernels.distances(row, y.data<T>() + other, to, columns, width, p);
                     }
                   }
                 });
  });
  autograd::note_derived(pointers(a, b), out);
  return out;
}

Tensor pair_distances(const Tensor& given, double p) {
  const Tensor x = contiguous(given);
  const std::int64_t rows = x.size(0);
  const std::int64_t width = x.size(1);
  Tensor out = empty({rows * (rows - 1) / 2}, x.dtype());
  if (out.numel() == 0) return out;
  const bool is_short = width > 0 && width <= cpu::kShortRow;
  const Tensor across = is_short ? contiguous(matrix_transpose(x)) : Tensor();
  const HostRelease release(out.numel() * width);
  with_kernel(x, [&]<class T>(const cpu::DistanceKernels<T>& kernels, T) {
    const auto measure = [&](std::int64_t r) {
      const T* const row = x.data<T>() + r * width;
      T* const to = out.data<T>() + r * (2 * rows - r - 1) / 2;
      if (is_short) {
        kernels.short_distances(row, 1, across.data<T>() + r + 1, rows, to, rows - r - 1, width, p);
      } else {
        kernels.distances(row, row + width, to, rows - r - 1, width, p);
      }
    };
    // Rows are paired from the front and the back, so that every task has the same number of distances.
    parallel_for(0, rows / 2, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, rows * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     measure(r);
                     if (rows - 2 - r != r) measure(rows - 2 - r);
                   }
                 });
  });
  autograd::note_derived(pointers(given), out);
  return out;
}

Tensor weighted_differences(const Tensor& x, const Tensor& y, const Tensor& weights, bool across, bool signs) {
  Tensor out = empty(x.shape(), x.dtype(), x.device());
  if (out.numel() == 0) return out;
  if (!x.device().is_cpu()) {
    device_kernel<&DeviceKernels::weighted_differences>(x.device(), "cdist")(x, y, weights, across, signs, out,
                                                                             "cdist");
    return out;
  }
  const std::int64_t rows = x.size(-2);
  const std::int64_t others = y.size(-2);
  const std::int64_t width = x.size(-1);
  const HostRelease release(out.numel() * others);
  with_kernel(x, [&]<class T>(const cpu::DistanceKernels<T>& kernels, T) {
    parallel_for(0, out.numel() / width, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, others * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const std::int64_t batch = r / rows;
                     const T* const own = weights.data<T>() + batch * rows * others;
                     kernels.gradient(x.data<T>() + r * width, y.data<T>() + batch * others * width,
                                      own + r % rows * (across ? 1 : others), across ? rows : 1,
                                      out.data<T>() + r * width, others, width, signs);
                   }
                 });
  });
  return out;
}

Tensor weighted_differences(const Tensor& x, const Tensor& y, const Tensor& weights, const Tensor& distances,
                            bool across) {
  if (!x.device().is_cpu() || !pays_by_products(x, y, 2) || weights.numel() == 0)
    return weighted_differences(x, y, weights, across, false);
  const CenteredRows centered(x, y);
  const auto& [from, to, own, other] = centered;
  const std::int64_t rows = x.size(-2);
  const std::int64_t others = y.size(-2);
  const std::int64_t width = x.size(-1);
  // Weights of the far pairs, and the sums over the near ones.
  const Tensor far = empty(weights.shape(), weights.dtype());
  const Tensor near = empty(x.shape(), x.dtype());
  const HostRelease release(weights.numel());
  with_kernel(x, [&]<class T>(const cpu::DistanceKernels<T>&, T) {
    parallel_for(0, own.numel(), std::max<std::int64_t>(1, kGrain / others), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t batch = r / rows;
        const T* const row = x.data<T>() + r * width;
        T* const sum = near.data<T>() + r * width;
        std::fill_n(sum, width, T(0));
        for (std::int64_t j = 0; j < others; ++j) {
          const std::int64_t at = batch * rows * others + (across ? j * rows + r % rows : r % rows * others + j);
          const T both = own.data<T>()[r] + other.data<T>()[batch * others + j];
          const T distance = distances.data<T>()[at];
          const T weight = weights.data<T>()[at];
          const bool is_near = !(distance * distance >= static_cast<T>(kFar) * both) || std::isinf(both);
          far.data<T>()[at] = is_near ? T(0) : weight;
          if (!is_near || weight == 0) continue;
          const T* const to_row = y.data<T>() + (batch * others + j) * width;
          for (std::int64_t k = 0; k < width; ++k) sum[k] += weight * (row[k] - to_row[k]);
        }
      }
    });
  });
  const Tensor turned = across ? matrix_transpose(far) : far;
  const Tensor products = subtract(multiply(from, sum(turned, Dims{-1}, true)), matmul(turned, to));
  return add(products, near);
}

Tensor square_form(const Tensor& pairs, std::int64_t n) {
  Tensor out = zeros({n, n}, pairs.dtype(), kCPU);
  with_kernel(out, [&]<class T>(const cpu::DistanceKernels<T>&, T) {
    const T* from = pairs.data<T>();
    T* const to = out.data<T>();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) to[i * n + j] = to[j * n + i] = *from++;
    }
  });
  return out;
}

}  // namespace lamella::distance_rows
