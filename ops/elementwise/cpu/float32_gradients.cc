#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_float32_gradients(ElementwiseTable& table) { fill_elementwise<float, false, true>(table); }

}  // namespace lamella::cpu
