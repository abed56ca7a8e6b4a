#include "ops/linalg/reflection_blocks.h"

#include "engine/runtime/parallel.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/column_groups.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella::linalg {
namespace {

/// Applies the reflections to one matrix, which `part` describes except for the blocks.
void reflect_one(DType dtype, cpu::ReflectionBlocksArgs blocks, cpu::ReflectArgs part, std::int64_t columns) {
  const auto place = static_cast<std::size_t>(dtype);
  const cpu::ReflectionKernels& kernels = cpu_kernels().reflections;
  const std::int64_t count = (blocks.count + cpu::kReflections - 1) / cpu::kReflections;
  const Tensor vectors = empty({count * blocks.m * cpu::kReflections}, dtype);
  const Tensor systems = empty({count * cpu::kReflections * cpu::kReflections}, dtype);
  blocks.vectors = vectors->data;
  blocks.systems = systems->data;
  kernels.blocks[place](blocks);
  part.vectors = vectors->data;
  part.systems = systems->data;
  part.factors = blocks.factors;
  part.m = blocks.m;
  part.count = blocks.count;
  for_each_columns(1, columns, cpu_kernels().triangle.columns[place], 2 * blocks.m * blocks.count,
                   [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                     cpu::ReflectArgs own = part;
                     own.begin = begin;
                     own.end = end;
                     kernels.reflect[place](own);
                   });
}

void reflect(const Tensor& x, const Tensor& given_factors, const Tensor& c, bool transposed, bool unit) {
  const auto item = static_cast<std::int64_t>(item_size(c.dtype()));
  const std::int64_t m = c.size(-2);
  const std::int64_t columns = c.size(-1);
  const std::int64_t steps = given_factors.size(-1);
  const Tensor factors = contiguous(given_factors);
  constexpr std::int64_t kGrain = 65536;  // multiplications per task
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, m * steps * columns));
  parallel_for(0, count_elements(batch_of(c)), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      reflect_one(c.dtype(),
                  {.x = static_cast<const char*>(x.raw_data()) + matrix_offset(x, i) * item,
                   .x_row = x.strides()[x.ndim() - 2],
                   .x_column = x.strides()[x.ndim() - 1],
                   .factors = static_cast<const char*>(factors.raw_data()) + i * steps * item,
                   .m = m,
                   .count = steps},
                  {.c = c->data + i * m * columns * item, .c_row = columns, .transposed = transposed, .unit = unit},
                  columns);
    }
  });
}

}  // namespace

bool has_reflections(const Tensor& x) {
  return x.device().is_cpu() && cpu_kernels().reflections.reflect[static_cast<std::size_t>(x.dtype())] != nullptr;
}

void reflect_columns(const Tensor& x, const Tensor& tau, const Tensor& c, bool transposed) {
  reflect(x, tau, c, transposed, false);
}

void form_columns(const Tensor& x, const Tensor& tau, const Tensor& q) { reflect(x, tau, q, false, true); }

void reflect_in_memory(DType dtype, std::int64_t m, std::int64_t steps, const void* x, std::int64_t x_step,
                       const void* factors, void* c, std::int64_t c_step, std::int64_t columns) {
  reflect_one(dtype, {.x = x, .x_row = 1, .x_column = x_step, .factors = factors, .m = m, .count = steps},
              {.c = c, .c_row = 1, .c_column = c_step}, columns);
}

}  // namespace lamella::linalg
