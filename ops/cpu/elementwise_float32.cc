#include "ops/cpu/elementwise.h"

namespace lamella::cpu {

void fill_elementwise_float32(ElementwiseTable& table) { fill_elementwise<float, true, false>(table); }

}  // namespace lamella::cpu
