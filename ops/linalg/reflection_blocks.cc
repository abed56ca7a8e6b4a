#include "ops/linalg/reflection_blocks.h"

#include "engine/runtime/parallel.h"
#include "ops/cpu/loader.h"
#include "ops/creation/creation.h"
#include "ops/linalg/batches.h"
#include "ops/linalg/column_groups.h"
#include "ops/movement/cast.h"

namespace lamella::linalg {
namespace {

void reflect(const Tensor& x, const Tensor& given_factors, const Tensor& c, bool transposed, bool unit) {
  const auto place = static_cast<std::size_t>(c.dtype());
  const auto item = static_cast<std::int64_t>(item_size(c.dtype()));
  const cpu::ReflectionKernels& kernels = cpu_kernels().reflections;
  const std::int64_t m = c.size(-2);
  const std::int64_t columns = c.size(-1);
  const std::int64_t steps = given_factors.size(-1);
  const std::int64_t blocks = (steps + cpu::kReflections - 1) / cpu::kReflections;
  const Tensor factors = contiguous(given_factors);
  const auto run = [&](std::int64_t i) {
    const Tensor vectors = empty({blocks * m * cpu::kReflections}, c.dtype());
    const Tensor systems = empty({blocks * cpu::kReflections * cpu::kReflections}, c.dtype());
    const void* const own = static_cast<const char*>(factors.raw_data()) + i * steps * item;
    kernels.blocks[place]({.x = static_cast<const char*>(x.raw_data()) + matrix_offset(x, i) * item,
                           .x_row = x.strides()[x.ndim() - 2],
                           .x_column = x.strides()[x.ndim() - 1],
                           .factors = own,
                           .m = m,
                           .count = steps,
                           .vectors = vectors->data,
                           .systems = systems->data});
    const std::int64_t unit_columns = cpu_kernels().triangle.columns[place];
    for_each_columns(1, columns, unit_columns, 2 * m * steps, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      kernels.reflect[place]({.vectors = vectors->data,
                              .systems = systems->data,
                              .factors = own,
                              .m = m,
                              .count = steps,
                              .c = c->data + i * m * columns * item,
                              .c_row = columns,
                              .begin = begin,
                              .end = end,
                              .transposed = transposed,
                              .unit = unit});
    });
  };
  constexpr std::int64_t kGrain = 65536;  // multiplications that one thread takes at a time
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, m * steps * columns));
  parallel_for(0, count_elements(batch_of(c)), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) run(i);
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

}  // namespace lamella::linalg
