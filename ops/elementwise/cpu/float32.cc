#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_float32(ElementwiseTable& table) { fill_elementwise<float, true, false>(table); }

}  // namespace lamella::cpu
