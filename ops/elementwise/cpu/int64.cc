#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_int64(ElementwiseTable& table) { fill_elementwise<std::int64_t>(table); }

}  // namespace lamella::cpu
