#include <algorithm>
#include <bit>
#include <utility>

#include "ops/cpu/lanes.h"
#include "ops/cpu/tables/matmul.h"
#include "ops/cpu/tile.h"
#include "ops/simd/vec.h"

// Products of a matrix and a vector read each element of the matrix once, so memory bandwidth should limit them.

namespace lamella::cpu {
namespace {

using simd::Vec;

/// Computes the dot products of kRows rows with a vector, each element of which is loaded once. The order of additions
/// does not depend on kRows.
template <int kRows, class T>
void dot(const T* rows, std::int64_t step, const T* vector, std::int64_t n, T* out) {
  using V = Vec<T>;
  constexpr int kChains = 4;
  constexpr std::int64_t kStep = kChains * V::size;
  V sums[kRows][kChains];
  for (auto& chains : sums) {
    for (V& sum : chains) sum = V(0);
  }
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (int k = 0; k < kChains; ++k) {
      const V factor = V::load(vector + i + k * V::size);
      for (int r = 0; r < kRows; ++r) sums[r][k] += V::load(rows + r * step + i + k * V::size) * factor;
    }
  }
  for (; i + V::size <= n; i += V::size) {
    const V factor = V::load(vector + i);
    for (int r = 0; r < kRows; ++r) sums[r][0] += V::load(rows + r * step + i) * factor;
  }
  for (int r = 0; r < kRows; ++r) {
    T rest = 0;
    for (std::int64_t j = i; j < n; ++j) rest += rows[r * step + j] * vector[j];
    out[r] = sum_lanes((sums[r][0] + sums[r][1]) + (sums[r][2] + sums[r][3])) + rest;
  }
}

// Rows of a few elements would leave most lanes empty, and adding up the lanes of each would cost more than its
// products. So as many rows as a vector has lanes are processed together, with their sums in one vector.

/// Returns the sums of every kCount neighboring lanes of adjacent vectors.
template <int kCount, class T>
Vec<T> sums_of_neighbors(Vec<T> (&parts)[kCount]) {
  using V = Vec<T>;
  using Lanes = std::make_index_sequence<V::size>;
  for (int n = kCount / 2; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) {
      const auto a = parts[2 * i].native();
      const auto b = parts[2 * i + 1].native();
      parts[i] = V(every_second<0>(a, b, Lanes())) + V(every_second<1>(a, b, Lanes()));
    }
  }
  return parts[0];
}

/// Spreads rows of kWidth lanes to kPadded lanes each, padded with zeros.
template <int kWidth, int kPadded, class V, std::size_t... I>
V moved_apart(V v, std::index_sequence<I...>) {
  constexpr int kLanes = sizeof...(I);
  constexpr auto source = [](int lane) {
    return lane % kPadded < kWidth ? lane / kPadded * kWidth + lane % kPadded : kLanes + lane;
  };
  return __builtin_shufflevector(v, V{}, source(static_cast<int>(I))...);
}

/// Computes the dot products of rows of kWidth elements, several of which fit into a vector.
template <int kWidth, class T>
void few_columns(const MatrixVectorArgs& args) {
  using V = Vec<T>;
  constexpr int kPadded = std::bit_ceil(static_cast<unsigned>(kWidth));
  constexpr std::int64_t kBeside = V::size / kPadded * kWidth;  // elements of the rows in one vector
  constexpr std::int64_t kBlock = V::size * kWidth;
  constexpr std::int64_t kRead = kBlock - kBeside + V::size;  // elements that are read for a block
  const T* vector = static_cast<const T*>(args.vector);
  T* out = static_cast<T*>(args.out);
  T repeated[V::size];
  for (int i = 0; i < V::size; ++i) repeated[i] = vector[i % kWidth];
  const V factor = V::load(repeated);
  const bool single = args.vector_row == 0;
  const auto block_sums = [&](const T* rows, const T* factors) {
    V parts[kPadded];
    for (int i = 0; i < kPadded; ++i) {
      const V product = V::load(rows + i * kBeside) * (single ? factor : V::load(factors + i * kBeside));
      parts[i] = V(moved_apart<kWidth, kPadded>(product.native(), std::make_index_sequence<V::size>()));
    }
    return sums_of_neighbors(parts);
  };
  const bool dense_factors = single || (args.group == 1 && args.vector_row == kWidth);
  for (std::int64_t r = 0; r < args.rows; r += V::size) {
    const T* rows = static_cast<const T*>(args.matrix) + r * args.row;
    const T* factors = vector + r * args.vector_row;
    const auto n = static_cast<int>(std::min<std::int64_t>(V::size, args.rows - r));
    const bool has_room = (args.rows - r) * kWidth >= kRead;
    T copies[2][kRead];
    if (!has_room || args.row != kWidth) {
      for (int i = 0; i < n; ++i) std::copy_n(rows + i * args.row, kWidth, copies[0] + i * kWidth);
      std::fill(copies[0] + n * kWidth, copies[0] + kRead, T(0));
      rows = copies[0];
    }
    if (!single && (!has_room || !dense_factors)) {
      factors = vector + r / args.group * args.vector_row;
      std::int64_t left = args.group - r % args.group;
      for (int i = 0; i < n; ++i) {
        std::copy_n(factors, kWidth, copies[1] + i * kWidth);
        if (--left > 0) continue;
        factors += args.vector_row;
        left = args.group;
      }
      std::fill(copies[1] + n * kWidth, copies[1] + kRead, T(0));
      factors = copies[1];
    }
    const V sums = block_sums(rows, factors);
    n == V::size ? sums.store(out + r) : sums.store_partial(out + r, n);
  }
}

/// Computes the dot products of rows of a few vectors.
template <class T>
void some_columns(const MatrixVectorArgs& args) {
  using V = Vec<T>;
  const std::int64_t whole = args.columns / V::size * V::size;
  const auto rest = static_cast<int>(args.columns - whole);
  T* out = static_cast<T*>(args.out);
  for (std::int64_t r = 0; r < args.rows; r += V::size) {
    const auto n = static_cast<int>(std::min<std::int64_t>(V::size, args.rows - r));
    V parts[V::size];
    [[maybe_unused]] T rests[V::size] = {};
    for (int i = 0; i < V::size; ++i) {
      // Missing rows repeat the last one, and their results are not written.
      const std::int64_t at = r + std::min(i, n - 1);
      const T* row = static_cast<const T*>(args.matrix) + at * args.row;
      const T* factors =
          static_cast<const T*>(args.vector) + (args.group == 1 ? at : at / args.group) * args.vector_row;
      V sum(0);
      for (std::int64_t j = 0; j < whole; j += V::size) sum += V::load(row + j) * V::load(factors + j);
      if constexpr (simd::kHasPartial<T>) {
        sum += V::load_partial(row + whole, rest, T(0)) * V::load_partial(factors + whole, rest, T(0));
      } else {
        for (std::int64_t j = whole; j < args.columns; ++j) rests[i] += row[j] * factors[j];
      }
      parts[i] = sum;
    }
    V sums = sums_of_neighbors(parts);
    if constexpr (!simd::kHasPartial<T>) sums += V::load(rests);
    sums.store_partial(out + r, n);
  }
}

template <class T>
constexpr std::int64_t kFewColumns = Vec<T>::size / 2;
template <class T>
constexpr std::int64_t kSomeColumns = 1024 / sizeof(T);

template <class T>
void rows_times_vector(const MatrixVectorArgs& args) {
  if (args.columns <= kFewColumns<T>) {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      constexpr void (*kKernels[])(const MatrixVectorArgs&) = {few_columns<I + 1, T>...};
      kKernels[args.columns - 1](args);
    }(std::make_integer_sequence<int, kFewColumns<T>>());
  }
  if (args.columns <= kSomeColumns<T>) return some_columns<T>(args);
  constexpr int kTogether = sizeof(Vec<T>) == 64 ? 4 : 2;  // number of sums that fit into registers
  const T* matrix = static_cast<const T*>(args.matrix);
  const T* vector = static_cast<const T*>(args.vector);
  T* out = static_cast<T*>(args.out);
  std::int64_t r = 0;
  if (args.vector_row != 0) {
    for (; r < args.rows; ++r) {
      dot<1>(matrix + r * args.row, args.row, vector + r / args.group * args.vector_row, args.columns, out + r);
    }
    return;
  }
  for (; r + kTogether <= args.rows; r += kTogether) {
    dot<kTogether>(matrix + r * args.row, args.row, vector, args.columns, out + r);
  }
  for (; r < args.rows; ++r) dot<1>(matrix + r * args.row, args.row, vector, args.columns, out + r);
}

constexpr std::int64_t kColumns = 1024;  // number of sums that stay in the L1 cache

/// Computes sums[j] += the sum over kRows rows of factor times element.
template <int kRows, class T>
void add_rows(const T* factors, const T* rows, std::int64_t step, std::int64_t width, T* sums) {
  using V = Vec<T>;
  std::int64_t j = 0;
  for (; j + V::size <= width; j += V::size) {
    V sum = V::load(sums + j);
    for (int r = 0; r < kRows; ++r) sum += V(factors[r]) * V::load(rows + r * step + j);
    sum.store(sums + j);
  }
  for (; j < width; ++j) {
    for (int r = 0; r < kRows; ++r) sums[j] += factors[r] * rows[r * step + j];
  }
}

template <class T>
void vector_times_rows(const MatrixVectorArgs& args) {
  const T* vector = static_cast<const T*>(args.vector);
  for (std::int64_t c = 0; c < args.columns; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.columns - c);
    const T* matrix = static_cast<const T*>(args.matrix) + c;
    T* out = static_cast<T*>(args.out) + c;
    std::fill_n(out, width, T{0});
    for (std::int64_t first = 0; first < args.rows; first += args.run) {
      const std::int64_t last = std::min(args.rows, first + args.run);
      T sums[kColumns];
      std::fill_n(sums, width, T{0});
      std::int64_t r = first;
      for (; r + 4 <= last; r += 4) add_rows<4>(vector + r, matrix + r * args.row, args.row, width, sums);
      for (; r < last; ++r) add_rows<1>(vector + r, matrix + r * args.row, args.row, width, sums);
      for (std::int64_t j = 0; j < width; ++j) out[j] += sums[j];
    }
  }
}

// Number of rows summed before the partial sum is added to the total, which keeps the rounding error small.
constexpr std::int64_t kRun = 128;

/// Adds the products of kVectors vectors of columns; the last vector starts at column `last`.
template <int kVectors, class T>
void add_products(const MatrixVectorArgs& args, std::int64_t first_column, std::int64_t last) {
  using V = Vec<T>;
  const auto column = [last](int v) { return v + 1 < kVectors ? v * V::size : last; };
  const T* const a = static_cast<const T*>(args.matrix) + first_column;
  const T* const b = static_cast<const T*>(args.vector) + first_column;
  V total[kVectors];
  for (V& sum : total) sum = V(0);
  for (std::int64_t first = 0; first < args.rows; first += kRun) {
    V part[kVectors];
    for (V& sum : part) sum = V(0);
    for (std::int64_t i = first; i < std::min(args.rows, first + kRun); ++i) {
      for (int v = 0; v < kVectors; ++v)
        part[v] += V::load(a + i * args.row + column(v)) * V::load(b + i * args.vector_row + column(v));
    }
    for (int v = 0; v < kVectors; ++v) total[v] += part[v];
  }
  for (int v = 0; v < kVectors; ++v) total[v].store(static_cast<T*>(args.out) + first_column + column(v));
}

/// Computes columns_by_columns() for fewer columns than lanes in adjacent rows: a vector holds as many whole rows as
/// fit, and its other lanes do not count.
template <class T>
void narrow_columns_by_columns(const MatrixVectorArgs& args) {
  using V = Vec<T>;
  constexpr int kChains = 4;
  const T* const a = static_cast<const T*>(args.matrix);
  const T* const b = static_cast<const T*>(args.vector);
  const std::int64_t taken = V::size / args.columns * args.columns;
  const std::int64_t n = args.rows * args.columns;
  V total[kChains];
  for (V& sum : total) sum = V(0);
  std::int64_t i = 0;
  while (i + (kChains - 1) * taken + V::size <= n) {
    V part[kChains];
    for (V& sum : part) sum = V(0);
    for (std::int64_t step = 0; step < kRun && i + (kChains - 1) * taken + V::size <= n; ++step) {
      for (V& sum : part) {
        sum += V::load(a + i) * V::load(b + i);
        i += taken;
      }
    }
    for (int v = 0; v < kChains; ++v) total[v] += part[v];
  }
  for (; i + V::size <= n; i += taken) total[0] += V::load(a + i) * V::load(b + i);
  T lanes[V::size];
  ((total[0] + total[1]) + (total[2] + total[3])).store(lanes);
  for (std::int64_t k = args.columns; k < taken; ++k) lanes[k % args.columns] += lanes[k];
  for (; i < n; i += args.columns) {
    for (std::int64_t k = 0; k < args.columns; ++k) lanes[k] += a[i + k] * b[i + k];
  }
  std::copy_n(lanes, args.columns, static_cast<T*>(args.out));
}

/// Computes columns_by_columns() for a few columns of rows that are not adjacent.
template <class T>
void part_columns_by_columns(const MatrixVectorArgs& args) {
  using V = Vec<T>;
  const auto columns = static_cast<int>(args.columns);
  const T* a = static_cast<const T*>(args.matrix);
  const T* b = static_cast<const T*>(args.vector);
  V total(0);
  for (std::int64_t first = 0; first < args.rows; first += kRun) {
    V part(0);
    for (std::int64_t i = first; i < std::min(args.rows, first + kRun); ++i) {
      part +=
          V::load_partial(a + i * args.row, columns, T(0)) * V::load_partial(b + i * args.vector_row, columns, T(0));
    }
    total += part;
  }
  total.store_partial(static_cast<T*>(args.out), columns);
}

template <class T>
void columns_by_columns(const MatrixVectorArgs& args) {
  constexpr std::int64_t kLanes = Vec<T>::size;
  constexpr int kVectors = 4;
  if (args.columns < kLanes) {
    return args.row == args.columns && args.vector_row == args.columns ? narrow_columns_by_columns<T>(args)
                                                                       : part_columns_by_columns<T>(args);
  }
  std::int64_t j = 0;
  for (; j + kVectors * kLanes <= args.columns; j += kVectors * kLanes)
    add_products<kVectors, T>(args, j, (kVectors - 1) * kLanes);
  const std::int64_t vectors = (args.columns - j + kLanes - 1) / kLanes;
  // The last vector overlaps the one before it if the columns do not fill it.
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((vectors == I + 1 ? add_products<I + 1, T>(args, j, args.columns - j - kLanes) : void()), ...);
  }(std::make_integer_sequence<int, kVectors>());
}

template <class T>
void outer(const OuterArgs& args) {
  using V = Vec<T>;
  const T* column = static_cast<const T*>(args.column);
  const T* row = static_cast<const T*>(args.row);
  T* out = static_cast<T*>(args.out);
  for (std::int64_t i = 0; i < args.rows; ++i, out += args.columns) {
    const T single = column[i * args.step];
    const V factor(single);
    std::int64_t j = 0;
    for (; j + V::size <= args.columns; j += V::size) (factor * V::load(row + j)).store(out + j);
    for (; j < args.columns; ++j) out[j] = single * row[j];
  }
}

/// Returns v with its lanes permuted: lane i is lane source(i) of v.
template <class V, class Source, std::size_t... I>
V lanes_from(V v, const Source&, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, Source()(static_cast<int>(I))...);
}
template <class T, class Source>
Vec<T> few_lanes(const T* from, int n, const Source& source) {
  using V = Vec<T>;
  if constexpr (simd::kHasPartial<T>) {
    const V first = V::load_partial(from, n, T(0));
    return V(lanes_from(first.native(), source, std::make_index_sequence<V::size>()));
  } else {
    T lanes[V::size];
    for (int i = 0; i < V::size; ++i) lanes[i] = from[std::min(source(i), n - 1)];
    return V::load(lanes);
  }
}

/// Writes results of rows of kWidth elements, as many rows at once as fit into a vector. The lanes beyond them are
/// overwritten by the next rows, except at the end.
template <int kWidth, class T>
void small_outer_of(const SmallOuterArgs& args) {
  using V = Vec<T>;
  constexpr int kBeside = V::size / kWidth;
  T* out = static_cast<T*>(args.out);
  const T* const end = out + args.count * args.height * kWidth;
  for (std::int64_t k = 0; k < args.count; ++k) {
    const T* column = static_cast<const T*>(args.columns) + k * args.column;
    const T* row = static_cast<const T*>(args.rows) + k * args.row;
    const V factors = few_lanes(row, kWidth, [](int lane) { return lane % kWidth; });
    for (std::int64_t i = 0; i < args.height; i += kBeside) {
      const auto n = static_cast<int>(std::min<std::int64_t>(kBeside, args.height - i));
      const V single = kBeside == 1 ? V(column[i]) : few_lanes(column + i, n, [](int lane) { return lane / kWidth; });
      const V product = single * factors;
      if (end - out >= V::size) {
        product.store(out);
      } else {
        product.store_partial(out, n * kWidth);
      }
      out += n * kWidth;
    }
  }
}

template <class T>
void small_outer(const SmallOuterArgs& args) {
  if (args.width <= Vec<T>::size) {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      constexpr void (*kKernels[])(const SmallOuterArgs&) = {small_outer_of<I + 1, T>...};
      kKernels[args.width - 1](args);
    }(std::make_integer_sequence<int, Vec<T>::size>());
  }
  for (std::int64_t k = 0; k < args.count; ++k) {
    outer<T>({.column = static_cast<const T*>(args.columns) + k * args.column,
              .row = static_cast<const T*>(args.rows) + k * args.row,
              .out = static_cast<T*>(args.out) + k * args.height * args.width,
              .rows = args.height,
              .columns = args.width,
              .step = 1});
  }
}

template <class T>
void added_outer(const AddedOuterArgs& args) {
  using V = Vec<T>;
  const OuterArgs& product = args.product;
  const T* column = static_cast<const T*>(product.column);
  const T* row = static_cast<const T*>(product.row);
  const T* input = static_cast<const T*>(args.input);
  T* out = static_cast<T*>(product.out);
  const T beta = static_cast<T>(args.beta);
  for (std::int64_t i = 0; i < product.rows; ++i, out += product.columns, input += product.columns) {
    const T single = static_cast<T>(args.alpha) * column[i * product.step];
    const V factor(single);
    std::int64_t j = 0;
    for (; j + V::size <= product.columns; j += V::size)
      (V(beta) * V::load(input + j) + factor * V::load(row + j)).store(out + j);
    for (; j < product.columns; ++j) out[j] = beta * input[j] + single * row[j];
  }
}

template <class T>
void fill(MatmulKernels& kernels) {
  kernels.rows_times_vector[static_cast<std::size_t>(dtype_of<T>)] = rows_times_vector<T>;
  kernels.vector_times_rows[static_cast<std::size_t>(dtype_of<T>)] = vector_times_rows<T>;
  kernels.columns_by_columns[static_cast<std::size_t>(dtype_of<T>)] = columns_by_columns<T>;
  kernels.outer[static_cast<std::size_t>(dtype_of<T>)] = outer<T>;
  kernels.small_outer[static_cast<std::size_t>(dtype_of<T>)] = small_outer<T>;
  kernels.added_outer[static_cast<std::size_t>(dtype_of<T>)] = added_outer<T>;
}

}  // namespace

void fill_matmul_vector(MatmulKernels& kernels) {
  fill<float>(kernels);
  fill<double>(kernels);
}

}  // namespace lamella::cpu
