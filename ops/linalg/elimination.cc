#include "ops/linalg/elimination.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/column_groups.h"
#include "ops/linalg/factor_parts.h"
#include "ops/linalg/triangles.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/strided.h"

namespace lamella::linalg {
namespace {

constexpr DTypeSet Eliminated{DType::Float32, DType::Float64};

std::size_t place_of(const Tensor& x) { return static_cast<std::size_t>(x.dtype()); }
std::int64_t item_of(const Tensor& x) { return static_cast<std::int64_t>(item_size(x.dtype())); }

/// Factors matrices that fit into the L1 cache.
void eliminate_small(const Tensor& rows, const Tensor& pivots) {
  constexpr std::int64_t kGrain = 32768;  // multiplications per task
  const std::int64_t m = rows.size(-2);
  const std::int64_t n = rows.size(-1);
  const std::int64_t steps = std::min(m, n);
  const std::int64_t count = rows.numel() / (m * n);
  const std::int64_t size = m * n * item_of(rows);
  const auto kernel = cpu_kernels().elimination.small[place_of(rows)];
  const HostRelease release(count * m * n * steps);
  parallel_for(0, count, std::max<std::int64_t>(1, kGrain / (m * n * steps)),
               [&](std::int64_t begin, std::int64_t end) {
                 kernel({.matrices = rows->data + begin * size,
                         .pivots = pivots.data<std::int32_t>() + begin * steps,
                         .count = end - begin,
                         .rows = m,
                         .columns = n});
               });
}

/// Factors one large matrix, panel by panel; threads share the columns to the right of each panel.
void eliminate_large(const Tensor& rows, const Tensor& pivots, std::int64_t i) {
  const cpu::EliminationKernels& kernels = cpu_kernels().elimination;
  const std::size_t place = place_of(rows);
  const std::int64_t m = rows.size(-2);
  const std::int64_t n = rows.size(-1);
  const std::int64_t steps = std::min(m, n);
  // Wider panels mean more work for a single thread, more panels more memory traffic for the others.
  constexpr std::int64_t kLarge = 768;
  const std::int64_t width = steps >= kLarge ? 64 : 48;
  const std::int64_t panel_size = std::min(width, steps) * cpu::lu_panel_row(m);
  const Tensor panel = empty({panel_size}, rows.dtype());
  cpu::LuStepArgs step{.matrix = rows->data + i * m * n * item_of(rows),
                       .row = n,
                       .rows = m,
                       .pivots = pivots.data<std::int32_t>() + i * steps,
                       .panel = panel->data};
  for (step.first = 0; step.first < steps; step.first += width) {
    step.count = std::min(width, steps - step.first);
    kernels.panel[place](step);
    const std::int64_t right = step.first + step.count;
    for_each_columns(1, n - right, cpu_kernels().triangle.columns[place], (m - step.first) * step.count,
                     [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                       cpu::LuStepArgs part = step;
                       part.begin = right + begin;
                       part.end = right + end;
                       kernels.update[place](part);
                     });
  }
  // Applies the exchanges of later steps to the columns left of their panels.
  for_each_columns(1, steps, width, steps, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (cpu::LuStepArgs part = step; begin < end; begin += width) {
      part.begin = begin;
      part.end = std::min(begin + width, end);
      part.first = part.end;
      part.count = steps - part.end;
      kernels.exchange[place](part);
    }
  });
}

/// Throws ValueError: "matrix 3 of the batch", or "the matrix", is singular.
[[noreturn]] void refuse(std::int64_t i, std::int64_t count, const char* op) {
  if (count == 1) fail<ValueError>("[", op, "] the matrix is singular");
  fail<ValueError>("[", op, "] matrix ", i, " of the batch is singular");
}

/// Returns the number, from 1 on, of the first zero on the diagonal of matrix i, or 0 if there is none.
std::int64_t zero_pivot(const Tensor& lu, std::int64_t i) {
  const std::int64_t n = lu.size(-1);
  return visit<Eliminated>(lu.dtype(), "linalg_lu", [&]<class T> {
    const T* const matrix = lu.data<T>() + i * n * n;
    std::int64_t k = 0;
    while (k < n && matrix[k * n + k] != T(0)) ++k;
    return k < n ? k + 1 : 0;
  });
}

/// The rows of p^T x by the rows of x that they are, for one matrix after the other.
class RowOrder {
 public:
  explicit RowOrder(const Tensor& pivots)
      : pivots_(pivots.data<std::int32_t>()), order_(static_cast<std::size_t>(pivots.size(-1))) {}

  /// Returns the order of matrix i, valid until the next call.
  const std::vector<std::int64_t>& of(std::int64_t i) {
    std::iota(order_.begin(), order_.end(), 0);
    const std::int32_t* const exchanges = pivots_ + i * static_cast<std::int64_t>(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k)
      std::swap(order_[k], order_[static_cast<std::size_t>(exchanges[k] - 1)]);
    return order_;
  }

 private:
  const std::int32_t* pivots_;
  std::vector<std::int64_t> order_;
};

/// Returns the number of matrices of `elements` elements that a thread takes at a time.
std::int64_t matrices_of_task(std::int64_t elements) {
  constexpr std::int64_t kGrain = 16384;  // elements
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, elements));
}

/// Returns the rows of b permuted by the exchanges, or back.
Tensor with_exchanges(const Tensor& b, const Tensor& pivots, bool back) {
  const Tensor from = contiguous(b);
  Tensor to = empty(b.shape(), b.dtype(), b.device());
  const std::int64_t n = b.size(-2);
  const auto row = static_cast<std::size_t>(b.size(-1) * item_of(b));
  const std::int64_t grain = matrices_of_task(n * b.size(-1));
  parallel_for(0, count_elements(batch_of(b)), grain, [&](std::int64_t begin, std::int64_t end) {
    RowOrder orders(pivots);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::vector<std::int64_t>& order = orders.of(i);
      for (std::size_t k = 0; k < order.size(); ++k) {
        const auto first = static_cast<std::size_t>(i * n);
        const std::size_t given = first + static_cast<std::size_t>(order[k]);
        const std::size_t exchanged = first + k;
        std::memcpy(to->data + (back ? given : exchanged) * row,
                    static_cast<const char*>(from.raw_data()) + (back ? exchanged : given) * row, row);
      }
    }
  });
  return to;
}

/// Computes the inverse of l u by columns of the unit matrix; those of l^-1 are 0 above the diagonal.
void invert_factors(const Tensor& lu, const Tensor& y) {
  const cpu::TriangleKernels& kernels = cpu_kernels().triangle;
  const std::size_t place = place_of(lu);
  const std::int64_t item = item_of(lu);
  const std::int64_t n = lu.size(-1);
  const std::int64_t width = 2 * kernels.columns[place];
  const std::int64_t groups = (n + width - 1) / width;
  write_value(y, 0, "linalg_inv");
  const auto solve = [&](std::int64_t i, std::int64_t column) {
    char* const factors = lu->data + i * n * n * item;
    char* const to = y->data + i * n * n * item;
    const std::int64_t count = std::min(width, n - column);
    visit<Eliminated>(y.dtype(), "linalg_inv", [&]<class T> {
      for (std::int64_t j = column; j < column + count; ++j) reinterpret_cast<T*>(to)[j * n + j] = T(1);
    });
    kernels.solve[place]({.a = factors + column * (n + 1) * item,
                          .a_row = n,
                          .a_column = 1,
                          .b = to + column * (n + 1) * item,
                          .b_row = n,
                          .n = n - column,
                          .columns = count,
                          .unit_diagonal = true});
    kernels.solve[place]({.a = factors,
                          .a_row = n,
                          .a_column = 1,
                          .b = to + column * item,
                          .b_row = n,
                          .n = n,
                          .columns = count,
                          .upper = true});
  };
  for_each_columns(count_elements(batch_of(lu)), groups, 1, n * n * width,
                   [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
                     // The first columns take longer, so columns are taken from both ends alternately to balance the
                     // threads.
                     for (std::int64_t g = begin; g < end; ++g) solve(i, (g % 2 ? groups - 1 - g / 2 : g / 2) * width);
                   });
}

/// Permutes the columns of each matrix: column k goes where row k came from.
void exchange_columns(const Tensor& y, const Tensor& pivots) {
  const std::int64_t n = y.size(-1);
  const std::int64_t count = count_elements(batch_of(y));
  visit<Eliminated>(y.dtype(), "linalg_inv", [&]<class T> {
    const auto exchange = [&](std::int64_t i, const std::vector<std::int64_t>& order, std::int64_t begin,
                              std::int64_t end, std::vector<T>& copy) {
      for (std::int64_t row = begin; row < end; ++row) {
        T* const to = y.data<T>() + (i * n + row) * n;
        std::copy_n(to, n, copy.begin());
        for (std::size_t k = 0; k < copy.size(); ++k) to[order[k]] = copy[k];
      }
    };
    const auto row_of_numbers = [&] { return std::vector<T>(static_cast<std::size_t>(n)); };
    if (count == 1) {
      RowOrder orders(pivots);
      const std::vector<std::int64_t>& order = orders.of(0);
      return parallel_for(0, n, even_grain(n, n), [&](std::int64_t begin, std::int64_t end) {
        auto copy = row_of_numbers();
        exchange(0, order, begin, end, copy);
      });
    }
    parallel_for(0, count, matrices_of_task(n * n), [&](std::int64_t begin, std::int64_t end) {
      RowOrder orders(pivots);
      auto copy = row_of_numbers();
      for (std::int64_t i = begin; i < end; ++i) exchange(i, orders.of(i), 0, n, copy);
    });
  });
}

}  // namespace

bool has_elimination(const Tensor& x) {
  return x.device().is_cpu() && cpu_kernels().elimination.small[place_of(x)] != nullptr;
}

void eliminate(const Tensor& rows, const Tensor& pivots) {
  if (rows.size(-2) <= cpu::kMostLuRows && rows.size(-1) <= cpu::kMostLuRows) return eliminate_small(rows, pivots);
  const std::int64_t count = count_elements(batch_of(rows));
  const HostRelease release(rows.numel() * std::min(rows.size(-2), rows.size(-1)));
  if (count == 1) return eliminate_large(rows, pivots, 0);
  parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) eliminate_large(rows, pivots, i);
  });
}

void check_pivots(const Tensor& lu, const char* op) {
  const std::int64_t count = count_elements(batch_of(lu));
  for (std::int64_t i = 0; i < count; ++i) {
    if (zero_pivot(lu, i) > 0) refuse(i, count, op);
  }
}

Tensor solve_eliminated(const Factors& factors, const Tensor& b, bool transposed) {
  const Triangle upper{.upper = true, .adjoint = transposed};
  const Triangle lower{.unit_diagonal = true, .adjoint = transposed};
  if (transposed) {
    const Tensor y = clone(b);
    solve_triangles(factors.lu, y, upper);
    solve_triangles(factors.lu, y, lower);
    return with_exchanges(y, factors.pivots, true);
  }
  Tensor y = with_exchanges(b, factors.pivots, false);
  solve_triangles(factors.lu, y, lower);
  solve_triangles(factors.lu, y, upper);
  return y;
}

Tensor invert_rows(const Tensor& rows, const Tensor& info, const char* op) {
  const Tensor pivots = beside(rows, {rows.size(-1)}, DType::Int32);
  Tensor y = empty(rows.shape(), rows.dtype(), rows.device());
  eliminate(rows, pivots);
  if (!info.defined()) check_pivots(rows, op);
  invert_factors(rows, y);
  exchange_columns(y, pivots);
  if (!info.defined()) return y;
  const std::int64_t size = rows.size(-1) * rows.size(-1);
  for (std::int64_t i = 0; i < info.numel(); ++i) {
    const std::int64_t zero = zero_pivot(rows, i);
    info.data<std::int32_t>()[i] = static_cast<std::int32_t>(zero);
    if (zero == 0) continue;
    visit<Eliminated>(y.dtype(), op,
                      [&]<class T> { std::fill_n(y.data<T>() + i * size, size, std::numeric_limits<T>::quiet_NaN()); });
  }
  return y;
}

}  // namespace lamella::linalg
