#include "ops/linalg/gemv.h"

#include <algorithm>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/launch.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"

// Note [Shares]
// Training with single examples reads and writes every weight a few times per step, and does little else.
// So the rows of a weight go to the same thread in the forward product, in the gradient's product and in the
// optimizer's step: the data that one of them wrote is still in that thread's cache when the next one reads it.

namespace lamella::detail {
namespace {

constexpr std::int64_t kVectorChunk = 65536;  // terms of a long sum per task
constexpr std::int64_t kColumnGroup = 64;     // columns that threads do not share
constexpr std::int64_t kRowGroup = 4;         // rows that a kernel processes together

std::size_t column_of(DType dtype) { return static_cast<std::size_t>(dtype); }
std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(item_size(dtype)); }

const void* moved(const void* from, std::int64_t bytes) { return static_cast<const char*>(from) + bytes; }
void* moved(void* from, std::int64_t bytes) { return static_cast<char*>(from) + bytes; }

/// Computes one long sum in chunks.
void sum_chunks(const cpu::MatrixVectorArgs& all, DType dtype, bool share) {
  const auto kernel = cpu_kernels().matmul.rows_times_vector[column_of(dtype)];
  const std::int64_t item = bytes_of(dtype);
  const std::int64_t chunks = (all.columns + kVectorChunk - 1) / kVectorChunk;
  const Tensor parts = empty({chunks}, dtype);
  parallel_for(0, chunks, share ? 1 : chunks, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cpu::MatrixVectorArgs part = all;
      part.matrix = moved(all.matrix, i * kVectorChunk * item);
      part.vector = moved(all.vector, i * kVectorChunk * item);
      part.out = parts->data + i * item;
      part.columns = std::min(kVectorChunk, all.columns - i * kVectorChunk);
      kernel(part);
    }
  });
  cpu_kernels().reduce.rows[static_cast<std::size_t>(cpu::Reduction::Sum)][column_of(dtype)](parts->data, 1, chunks, 1,
                                                                                             0, all.out);
}

/// Computes matrix @ vector.
void rows_times_vector(const cpu::MatrixVectorArgs& all, DType dtype, bool share) {
  if (all.rows == 1 && all.columns > kVectorChunk) return sum_chunks(all, dtype, share);
  const auto kernel = cpu_kernels().matmul.rows_times_vector[column_of(dtype)];
  const std::int64_t item = bytes_of(dtype);
  const std::int64_t grain = share ? even_grain(all.rows, all.columns, kRowGroup) : all.rows;
  parallel_for(0, all.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    cpu::MatrixVectorArgs part = all;
    part.matrix = moved(all.matrix, begin * all.row * item);
    part.out = moved(all.out, begin * item);
    part.rows = end - begin;
    kernel(part);
  });
}

/// Returns the number of rows summed before the partial sum is added to the total: 64 or a few more, so that a power of
/// two of them makes all rows. That keeps the rounding error small and lets threads share the rows.
std::int64_t rows_in_run(std::int64_t rows) {
  constexpr std::int64_t kLeast = 64;
  std::int64_t runs = 1;
  while (rows / (2 * runs) >= kLeast) runs *= 2;
  return (rows + runs - 1) / runs;
}

/// Computes vector @ matrix. Threads share the runs (see Note [Shares]), or the columns if there are few runs.
void vector_times_rows(cpu::MatrixVectorArgs all, DType dtype, bool share) {
  const auto kernel = cpu_kernels().matmul.vector_times_rows[column_of(dtype)];
  const std::int64_t item = bytes_of(dtype);
  all.run = rows_in_run(all.rows);
  const std::int64_t runs = (all.rows + all.run - 1) / all.run;
  const std::int64_t grain = even_grain(runs, all.run * all.columns);
  if (!share || grain >= runs || runs < thread_count()) {
    const std::int64_t columns = share ? even_grain(all.columns, all.rows, kColumnGroup) : all.columns;
    parallel_for(0, all.columns, columns, [&](std::int64_t begin, std::int64_t end) {
      cpu::MatrixVectorArgs part = all;
      part.matrix = moved(all.matrix, begin * item);
      part.out = moved(all.out, begin * item);
      part.columns = end - begin;
      kernel(part);
    });
    return;
  }
  const Tensor sums = empty({runs, all.columns}, dtype);
  parallel_for(0, runs, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cpu::MatrixVectorArgs part = all;
      part.matrix = moved(all.matrix, i * all.run * all.row * item);
      part.vector = moved(all.vector, i * all.run * item);
      part.out = sums->data + i * all.columns * item;
      part.rows = std::min(all.run, all.rows - i * all.run);
      kernel(part);
    }
  });
  const Tensor ones = full({runs}, 1, dtype, kCPU);
  kernel({.matrix = sums->data,
          .vector = ones->data,
          .out = all.out,
          .rows = runs,
          .columns = all.columns,
          .row = all.columns,
          .run = 1});
}

}  // namespace

Tensor dense_vector(const Tensor& x, std::size_t axis) {
  return x.shape()[axis] == 1 || x.strides()[axis] == 1 ? x : contiguous(x);
}

void multiply_vector(const cpu::MatmulArgs& all, DType dtype, bool share) {
  const bool by_column = all.n == 1;                              // true if the vector is b
  const std::int64_t length = by_column ? all.m : all.n;          // length of the result
  const std::int64_t own = by_column ? all.a_row : all.b_column;  // distance between the rows that give one result each
  const std::int64_t summed = by_column ? all.a_column : all.b_row;  // distance between the terms of a result
  cpu::MatrixVectorArgs args{.matrix = by_column ? all.a : all.b, .vector = by_column ? all.b : all.a, .out = all.c};
  if (summed == 1 || all.k == 1) {
    args.rows = length;
    args.columns = all.k;
    args.row = own;
    rows_times_vector(args, dtype, share);
  } else {
    args.rows = all.k;
    args.columns = length;
    args.row = summed;
    vector_times_rows(args, dtype, share);
  }
}

void outer_product(const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto kernel = cpu_kernels().matmul.outer[column_of(out.dtype())];
  if (!kernel || out.ndim() > 2) {
    const Tensor* const operands[] = {&a, &b};
    launch_elementwise(elementwise_op<Multiply>(), -1, operands, out, out.dtype());
    return;
  }
  const Tensor row = dense_vector(b, 1);
  const std::int64_t item = bytes_of(out.dtype());
  const std::int64_t columns = out.size(-1);
  const std::int64_t step = a.strides()[0];
  const HostRelease release(out.numel());
  parallel_for(0, out.size(0), even_grain(out.size(0), columns), [&](std::int64_t begin, std::int64_t end) {
    kernel({.column = moved(a->data, begin * step * item),
            .row = row->data,
            .out = moved(out->data, begin * columns * item),
            .rows = end - begin,
            .columns = columns,
            .step = step});
  });
}

}  // namespace lamella::detail
