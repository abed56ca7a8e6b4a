#include "ops/cpu/table.h"
#include "ops/elementwise/instances.h"

namespace lamella::cpu {
namespace {

KernelTable make_table() {
  KernelTable table{};
  table.isa = LAMELLA_ISA;
  static_assert(ElementwiseOps::size <= ElementwiseTable::kMaxOps);
  for_each_instance<bool, std::int32_t, std::int64_t, std::uint64_t, float, double, std::complex<float>,
                    std::complex<double>>(
      [&]<class T, class Ops>(int first) { fill_elementwise<T, Ops>(table.elementwise, first); });
  fill_elementwise_narrow(table.elementwise);
  fill_elementwise_small(table.elementwise);
  fill_movement(table.movement);
  fill_reduce_sums(table.reduce);
  fill_reduce_extrema(table.reduce);
  fill_reduce_truth(table.reduce);
  fill_reduce_positions(table.reduce);
  fill_reduce_others(table.reduce);
  fill_moments(table.moments);
  fill_index(table.index);
  fill_scan(table.scan);
  fill_sort(table.sort);
  fill_matmul(table.matmul);
  fill_softmax(table.softmax);
  fill_cross_entropy(table.cross_entropy);
  fill_recurrent(table.recurrent);
  fill_fft(table.fft);
  fill_random(table.random);
  fill_norm(table.norm);
  fill_norm_columns(table.norm);
  fill_pool(table.pool);
  fill_interpolate(table.interpolate);
  fill_attention(table.attention);
  fill_optimizer(table.optimizer);
  fill_distance(table.distance);
  fill_grid_sample(table.grid_sample);
  fill_ctc(table.ctc);
  fill_elimination(table.elimination);
  fill_elimination_steps(table.elimination);
  fill_triangle(table.triangle);
  fill_reflections(table.reflections);
  fill_special_modified_bessel(table.special);
  fill_special_bessel(table.special);
  fill_special_airy(table.special);
  fill_special_normal(table.special);
  fill_special_recurrence(table.special);
  fill_vector_functions(table.vectors);
  return table;
}

}  // namespace
}  // namespace lamella::cpu

const lamella::cpu::KernelTable* lamella_cpu_kernels() {
  static const lamella::cpu::KernelTable table = lamella::cpu::make_table();
  return &table;
}
