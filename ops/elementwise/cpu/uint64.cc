#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_uint64(ElementwiseTable& table) { fill_elementwise<std::uint64_t>(table); }

}  // namespace lamella::cpu
