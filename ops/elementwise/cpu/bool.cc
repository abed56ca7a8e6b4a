#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_bool(ElementwiseTable& table) { fill_elementwise<bool>(table); }

}  // namespace lamella::cpu
