#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_int32(ElementwiseTable& table) { fill_elementwise<std::int32_t>(table); }

}  // namespace lamella::cpu
