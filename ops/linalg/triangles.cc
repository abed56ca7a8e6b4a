#include "ops/linalg/triangles.h"

#include "ops/linalg/batches.h"
#include "ops/linalg/column_groups.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella::linalg {

bool has_triangle_kernel(const Tensor& x) {
  return x.device().is_cpu() && cpu_kernels().triangle.solve[static_cast<std::size_t>(x.dtype())] != nullptr;
}

void solve_triangles(const Tensor& x, const Tensor& y, Triangle triangle) {
  const auto dtype = static_cast<std::size_t>(x.dtype());
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const cpu::TriangleKernels& kernels = cpu_kernels().triangle;
  const std::int64_t n = y.size(-2);
  const std::int64_t columns = y.size(-1);
  cpu::TriangleArgs all{.a_row = x.strides()[x.ndim() - 2],
                        .a_column = x.strides()[x.ndim() - 1],
                        .b_row = columns,
                        .n = n,
                        .upper = triangle.upper,
                        .unit_diagonal = triangle.unit_diagonal};
  if (triangle.adjoint) {
    std::swap(all.a_row, all.a_column);
    all.upper = !all.upper;
  }
  const auto kernel = columns == 1 ? kernels.solve_one[dtype] : kernels.solve[dtype];
  for_each_columns(count_elements(batch_of(y)), columns, kernels.columns[dtype], n * n / 2,
                   [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
                     cpu::TriangleArgs part = all;
                     part.a = static_cast<const char*>(x.raw_data()) + matrix_offset(x, i) * item;
                     part.b = y->data + (i * n * columns + begin) * item;
                     part.columns = end - begin;
                     kernel(part);
                   });
}

}  // namespace lamella::linalg
