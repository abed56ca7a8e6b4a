#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_float64_gradients(ElementwiseTable& table) { fill_elementwise<double, false, true>(table); }

}  // namespace lamella::cpu
