#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_float64(ElementwiseTable& table) { fill_elementwise<double, true, false>(table); }

}  // namespace lamella::cpu
