#include "ops/linalg/gemm.h"

#include <algorithm>
#include <numeric>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/launch.h"
#include "ops/linalg/gemv.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/runtime/onednn.h"
#include "ops/support/device_kernels.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using detail::MatrixView;

/// Largest number of multiplications for which our own loop is faster than a library call.
constexpr std::int64_t kSmallProduct = 16 * 16 * 16;
constexpr std::int64_t kGrain = 32768;         // multiplications per task in our own loop
constexpr std::int64_t kComplexGrain = 65536;  // multiplications per task with complex numbers
constexpr std::int64_t kComplexRows = 32;
constexpr std::int64_t kRowBlock = 128;   // rows per task in Eigen
constexpr std::int64_t kLongRow = 65536;  // terms of a dot product that threads share

/// True if the rows or the columns of a matrix are contiguous and do not overlap.
bool is_readable(const Tensor& x) {
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = x.size(-1);
  const std::int64_t row = x.strides()[x.ndim() - 2];
  const std::int64_t column = x.strides()[x.ndim() - 1];
  return ((columns == 1 || column == 1) && (rows == 1 || row >= columns)) ||
         ((rows == 1 || row == 1) && (columns == 1 || column >= rows));
}

/// Returns the first matrix of x; the strides of axes of size 1 are replaced by suitable ones.
MatrixView view_of_matrix(const Tensor& x) {
  MatrixView view;
  view.data = x.raw_data();
  view.rows = x.size(-2);
  view.columns = x.size(-1);
  view.row = x.strides()[x.ndim() - 2];
  view.column = x.strides()[x.ndim() - 1];
  if ((view.columns == 1 || view.column == 1) && (view.rows == 1 || view.row >= view.columns)) {
    view.column = 1;
    if (view.rows == 1) view.row = view.columns;
  } else {
    view.row = 1;
    if (view.columns == 1) view.column = view.rows;
  }
  return view;
}

/// Returns the byte offset of matrix i of x, whose leading axes broadcast to `batch`.
std::int64_t batch_offset(const Tensor& x, DimsView batch, std::int64_t i) {
  std::int64_t offset = 0;
  const std::size_t missing = batch.size() - (x.ndim() - 2);
  for (std::size_t axis = batch.size(); axis-- > missing;) {
    const std::size_t own = axis - missing;
    if (x.shape()[own] != 1) offset += i % batch[axis] * x.strides()[own];
    i /= batch[axis];
  }
  return offset * static_cast<std::int64_t>(item_size(x.dtype()));
}

/// Returns the distance between consecutive matrices of x if it is constant: one batch axis, or several that merge.
std::optional<std::int64_t> batch_step(const Tensor& x, DimsView batch) {
  std::optional<std::int64_t> step;
  std::int64_t run = 1;
  const std::size_t missing = batch.size() - (x.ndim() - 2);
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    if (batch[axis] == 1) continue;
    const bool own = axis >= missing && x.shape()[axis - missing] != 1;
    const std::int64_t stride = own ? x.strides()[axis - missing] : 0;
    if (!step) {
      step = stride;
    } else if (stride != *step * run) {
      return std::nullopt;
    }
    run *= batch[axis];
  }
  return step.value_or(0);
}

cpu::MatmulArgs arguments(const MatrixView& a, const MatrixView& b, void* c) {
  return {.a = a.data,
          .b = b.data,
          .c = c,
          .m = a.rows,
          .k = a.columns,
          .n = b.columns,
          .a_row = a.row,
          .a_column = a.column,
          .b_row = b.row,
          .b_column = b.column,
          .c_row = b.columns};
}

/// Returns the rows [begin, end) of a product.
cpu::MatmulArgs part_of(const cpu::MatmulArgs& all, std::int64_t begin, std::int64_t end, std::int64_t item) {
  cpu::MatmulArgs part = all;
  part.a = static_cast<const char*>(all.a) + begin * all.a_row * item;
  part.c = static_cast<char*>(all.c) + begin * all.c_row * item;
  part.m = end - begin;
  return part;
}

/// True if one side is a single row or column, and the dtype has kernels for that.
bool is_vector_product(const Tensor& a, const Tensor& b, DType dtype) {
  return (a.size(-2) == 1 || b.size(-1) == 1) && (dtype == DType::Float32 || dtype == DType::Float64);
}

/// Returns the distance between the matrices of x along the last batch axis.
std::int64_t last_step(const Tensor& x) { return x.ndim() > 2 && x.size(-3) != 1 ? x.strides()[x.ndim() - 3] : 0; }

/// Computes batches of a row times a column whose operands are the columns of two matrices, or of pairs of matrices.
/// Returns false if the layout is another one.
bool column_products(const Tensor& a, const Tensor& b, DimsView batch, const Tensor& out) {
  constexpr std::int64_t kWide = 64;          // columns that fill vectors, and that threads do not share
  constexpr std::int64_t kManyColumns = 512;  // columns that suffice for threads to share
  constexpr std::int64_t kManyPairs = 8;
  constexpr std::int64_t kLeast = 96;  // products that are worth a call
  constexpr std::int64_t kChunk = 65536;
  if (a.size(-2) != 1 || b.size(-1) != 1) return false;
  const std::int64_t a_row = a.strides()[a.ndim() - 1];
  const std::int64_t b_row = b.strides()[b.ndim() - 2];
  if (a_row == 1 || b_row == 1) return false;
  const std::int64_t batches = count_elements(batch);
  const bool single = batch_step(a, batch) == 1 && batch_step(b, batch) == 1;
  if (!single && (last_step(a) != 1 || last_step(b) != 1)) return false;
  const std::int64_t columns = single ? batches : batch.back();
  const std::int64_t pairs = batches / columns;
  const std::int64_t length = a.size(-1);
  if (!single && columns * length < kLeast) return false;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const auto dtype = static_cast<std::size_t>(out.dtype());
  const auto kernel = cpu_kernels().matmul.columns_by_columns[dtype];
  const auto arguments_of = [&](std::int64_t pair) -> cpu::MatrixVectorArgs {
    return {.matrix = a->data + batch_offset(a, batch, pair * columns),
            .vector = b->data + batch_offset(b, batch, pair * columns),
            .out = out->data + pair * columns * item,
            .rows = length,
            .columns = columns,
            .row = a_row,
            .vector_row = b_row};
  };
  if (pairs < kManyPairs && columns >= kManyColumns) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const cpu::MatrixVectorArgs all = arguments_of(pair);
      parallel_for(0, columns, even_grain(columns, length, kWide), [&](std::int64_t begin, std::int64_t end) {
        cpu::MatrixVectorArgs part = all;
        part.matrix = static_cast<const char*>(all.matrix) + begin * item;
        part.vector = static_cast<const char*>(all.vector) + begin * item;
        part.out = static_cast<char*>(all.out) + begin * item;
        part.columns = end - begin;
        kernel(part);
      });
    }
    return true;
  }
  // Splits long products at positions that depend on the shape alone, into equal parts that threads share evenly.
  const std::int64_t work = length * columns;
  const std::int64_t cuts = pairs >= kManyPairs || work <= kChunk ? 1 : (work + 4 * kChunk - 1) / (4 * kChunk) * 4;
  const std::int64_t rows = (length + cuts - 1) / cuts;
  const std::int64_t parts = (length + rows - 1) / rows;
  const Tensor sums = parts == 1 ? out : empty({pairs * parts, columns}, out.dtype());
  parallel_for(0, pairs * parts, even_grain(pairs * parts, rows * columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cpu::MatrixVectorArgs part = arguments_of(i / parts);
      const std::int64_t first = i % parts * rows;
      part.matrix = static_cast<const char*>(part.matrix) + first * a_row * item;
      part.vector = static_cast<const char*>(part.vector) + first * b_row * item;
      part.out = sums->data + i * columns * item;
      part.rows = std::min(rows, length - first);
      kernel(part);
    }
  });
  if (parts == 1) return true;
  const auto sum = cpu_kernels().reduce.columns[static_cast<std::size_t>(cpu::Reduction::Sum)][dtype];
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    sum(sums->data + pair * parts * columns * item, columns, parts, columns, out->data + pair * columns * item);
  }
  return true;
}

/// Computes batches of a few rows times a column, or of a row times a few columns, of float32 or float64, as the rows
/// of one product in which each `group` rows have a vector of their own. Returns false for longer ones, which are
/// computed separately.
bool row_products(const Tensor& a, const Tensor& b, DimsView batch, const Tensor& out) {
  constexpr std::int64_t kFewRows = 16;
  constexpr std::int64_t kShortRow = 64;
  const bool by_column = b.size(-1) == 1;
  const std::int64_t length = a.size(-1);
  const std::int64_t group = by_column ? a.size(-2) : b.size(-1);
  if (group == 1 ? length > kLongRow : group > kFewRows || length > kShortRow) return false;
  const std::size_t along_a = a.ndim() - 1;
  const std::size_t along_b = b.ndim() - 2;
  Tensor matrix = by_column ? a : b;
  Tensor vector = by_column ? detail::dense_vector(b, along_b) : detail::dense_vector(a, along_a);
  if (group == 1) {
    matrix = by_column ? detail::dense_vector(a, along_a) : detail::dense_vector(b, along_b);
  } else if (matrix.strides()[by_column ? along_a : along_b] != 1) {
    return false;
  }
  const auto matrix_steps = batch_step(matrix, batch);
  const auto vector_steps = batch_step(vector, batch);
  const bool is_line = matrix_steps && vector_steps;
  const std::int64_t batches = count_elements(batch);
  const std::int64_t line =
      is_line ? batches : batch.back();  // number of products whose operands are at equal distances
  std::int64_t matrix_step = is_line ? *matrix_steps : last_step(matrix);
  std::int64_t vector_step = is_line ? *vector_steps : last_step(vector);
  // The operand that all products of a line share is the vector.
  if (group == 1 && matrix_step == 0) {
    std::swap(matrix, vector);
    std::swap(matrix_step, vector_step);
  }
  const std::int64_t row = group == 1 ? matrix_step : matrix.strides()[matrix.ndim() - (by_column ? 2 : 1)];
  if (matrix_step != group * row) return false;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const auto kernel = cpu_kernels().matmul.rows_times_vector[static_cast<std::size_t>(out.dtype())];
  parallel_for(0, batches, even_grain(batches, group * length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin, n = 0; i < end; i += n) {
      n = std::min(end - i, line - i % line);
      kernel({.matrix = matrix->data + batch_offset(matrix, batch, i),
              .vector = vector->data + batch_offset(vector, batch, i),
              .out = out->data + i * group * item,
              .rows = n * group,
              .columns = length,
              .row = row,
              .vector_row = vector_step,
              .group = group});
    }
  });
  return true;
}

/// Computes batches of small products of a column and a row; returns false if they are too large.
bool small_outer_products(const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto kernel = cpu_kernels().matmul.small_outer[static_cast<std::size_t>(out.dtype())];
  const std::int64_t height = out.size(-2);
  const std::int64_t width = out.size(-1);
  if (!kernel || out.ndim() < 3 || height * width > kSmallProduct) return false;
  const DimsView batch(out.shape().data(), out.ndim() - 2);
  const Tensor columns = detail::dense_vector(a, a.ndim() - 2);
  const Tensor rows = detail::dense_vector(b, b.ndim() - 1);
  const auto column = batch_step(columns, batch);
  const auto row = batch_step(rows, batch);
  if (!column || !row) return false;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const std::int64_t count = count_elements(batch);
  const HostRelease release(out.numel());
  parallel_for(0, count, even_grain(count, height * width), [&](std::int64_t begin, std::int64_t end) {
    kernel({.columns = columns->data + begin * *column * item,
            .rows = rows->data + begin * *row * item,
            .out = out->data + begin * height * width * item,
            .count = end - begin,
            .height = height,
            .width = width,
            .column = *column,
            .row = *row});
  });
  return true;
}

/// Returns x in another dtype, not recorded, with its axes in the same order in memory; products accept any.
Tensor converted(const Tensor& x, DType dtype) {
  if (!x.defined() || x.dtype() == dtype) return x;
  Tensor y = empty(x.shape(), dtype, x.device());
  const bool repeats = std::ranges::any_of(x.strides(), [](std::int64_t stride) { return stride <= 0; });
  if (!repeats && !x.is_contiguous()) {
    Dims order(x.ndim());
    std::iota(order.begin(), order.end(), 0);
    const auto stride_of = [&](std::int64_t axis) { return x.strides()[static_cast<std::size_t>(axis)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t i, std::int64_t j) { return stride_of(i) < stride_of(j); });
    Dims strides(x.ndim());
    std::int64_t step = 1;
    for (const std::int64_t axis : order) {
      strides[static_cast<std::size_t>(axis)] = step;
      step *= x.shape()[static_cast<std::size_t>(axis)];
    }
    y = make_view(y, x.shape(), strides);
  }
  write_values(y, x, "matmul");
  return y;
}

/// True if oneDNN computes the product; it then adds the bias as well.
bool is_for_onednn(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (!out.device().is_cpu() || a.size(-2) <= 1 || b.size(-1) <= 1 || a.size(-1) <= 1) return false;
  if (a.size(-2) * a.size(-1) * b.size(-1) <= kSmallProduct) return false;
  const detail::Onednn* const library = detail::onednn();
  return library && library->multiplies(out.dtype());
}

bool product_on_cpu(const Tensor& given_a, const Tensor& given_b, const Tensor& bias, const Tensor& out,
                    const char* op) {
  Tensor a = given_a;
  Tensor b = given_b;
  const bool by_onednn = is_for_onednn(a, b, out);
  const DType computing = cpu::computing_dtype(out.dtype());
  if (computing != out.dtype() && !by_onednn) [[unlikely]] {
    const Tensor wide = empty(out.shape(), computing);
    write_product(converted(a, computing), converted(b, computing), converted(bias, computing), wide, op);
    write_values(out, wide, op);
    return true;
  }
  if (a.size(-1) == 1) {
    if (!small_outer_products(a, b, out)) detail::outer_product(a, b, out);
    return false;
  }
  const auto column = static_cast<std::size_t>(out.dtype());
  const cpu::MatmulKernels& kernels = cpu_kernels().matmul;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const std::int64_t work = a.size(-2) * a.size(-1) * b.size(-1);
  const DimsView batch(out.shape().data(), out.ndim() - 2);
  const std::int64_t batches = count_elements(batch);
  const HostRelease release(work * batches);

  const auto for_each_matrix = [&](std::int64_t begin, std::int64_t end, auto&& multiply) {
    MatrixView av = view_of_matrix(a);
    MatrixView bv = view_of_matrix(b);
    const auto* a_data = static_cast<const char*>(av.data);
    const auto* b_data = static_cast<const char*>(bv.data);
    for (std::int64_t i = begin; i < end; ++i) {
      av.data = a_data + batch_offset(a, batch, i);
      bv.data = b_data + batch_offset(b, batch, i);
      multiply(arguments(av, bv, out->data + i * av.rows * bv.columns * item));
    }
  };

  if (is_vector_product(a, b, out.dtype())) {
    if (batches > 1 && (column_products(a, b, batch, out) || row_products(a, b, batch, out))) return false;
    if (b.size(-1) == 1) {
      b = detail::dense_vector(b, b.ndim() - 2);
      if (!is_readable(a)) a = contiguous(a);
    } else {
      a = detail::dense_vector(a, a.ndim() - 1);
      if (!is_readable(b)) b = contiguous(b);
    }
    parallel_for(0, batches, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
      for_each_matrix(begin, end,
                      [&](const cpu::MatmulArgs& one) { detail::multiply_vector(one, out.dtype(), batches == 1); });
    });
    return false;
  }
  if (work <= kSmallProduct || is_integral(out.dtype()) || is_complex(out.dtype())) {
    if (!is_readable(a)) a = contiguous(a);
    if (!is_readable(b)) b = contiguous(b);
    const auto kernel = require_kernel(kernels.small[column], op, out.dtype());
    const std::int64_t grain = is_complex(out.dtype()) ? kComplexGrain : kGrain;
    if (batches == 1) {
      for_each_matrix(0, 1, [&](const cpu::MatmulArgs& all) {
        // At least a few strips of a complex product per task, because each task copies b.
        const std::int64_t least = is_complex(out.dtype()) ? kComplexRows : 1;
        parallel_for(0, all.m, std::max(least, grain / (all.k * all.n)),
                     [&](std::int64_t first, std::int64_t last) { kernel(part_of(all, first, last, item)); });
      });
    } else {
      parallel_for(0, batches, std::max<std::int64_t>(1, grain / work),
                   [&](std::int64_t begin, std::int64_t end) { for_each_matrix(begin, end, kernel); });
    }
    return false;
  }
  if (!is_readable(a)) a = contiguous(a);
  if (!is_readable(b)) b = contiguous(b);
  if (by_onednn) {
    const detail::Onednn* const library = detail::onednn();
    MatrixView av = view_of_matrix(a);
    MatrixView bv = view_of_matrix(b);
    const Tensor row = bias.defined() ? contiguous(bias) : bias;
    const void* const added = row.defined() ? row.raw_data() : nullptr;
    const auto a_step = batch_step(a, batch);
    const auto b_step = batch_step(b, batch);
    // oneDNN takes no matrices that run backwards, and none that are all the same on both sides.
    if (a_step && b_step && *a_step >= 0 && *b_step >= 0 && (batches == 1 || *a_step + *b_step > 0)) {
      av.batch = *a_step;
      bv.batch = *b_step;
      library->product(av, bv, added, out.raw_data(), batches, out.dtype());
    } else {
      for_each_matrix(0, batches, [&](const cpu::MatmulArgs& one) {
        av.data = one.a;
        bv.data = one.b;
        library->product(av, bv, added, one.c, 1, out.dtype());
      });
    }
    return true;
  }
  const auto kernel = require_kernel(kernels.large[column], op, out.dtype());
  for_each_matrix(0, batches, [&](const cpu::MatmulArgs& all) {
    parallel_for(0, all.m, kRowBlock, [&](std::int64_t first, std::int64_t last) {
      // Blocks of a fixed size, so that the bits do not depend on the number of threads.
      for (std::int64_t row = first; row < last; row += kRowBlock)
        kernel(part_of(all, row, std::min(row + kRowBlock, last), item));
    });
  });
  return false;
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::matmul>(DeviceType::CPU, product_on_cpu);

}  // namespace

void write_product(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op) {
  if (out.device().is_meta() || out.numel() == 0) return;
  bool bias_added = false;
  if (a.size(-1) == 0) {
    write_value(out, 0, op);
  } else {
    bias_added = device_kernel<&DeviceKernels::matmul>(out.device(), op)(a, b, bias, out, op);
  }
  if (bias.defined() && !bias_added) {
    const Tensor* const operands[] = {&out, &bias};
    launch_elementwise(elementwise_op<Add>(), -1, operands, out, out.dtype());
  }
}

}  // namespace lamella
