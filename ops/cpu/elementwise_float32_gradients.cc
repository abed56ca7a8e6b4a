#include "ops/cpu/elementwise.h"

namespace lamella::cpu {

void fill_elementwise_float32_gradients(ElementwiseTable& table) { fill_elementwise<float, false, true>(table); }

}  // namespace lamella::cpu
