#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_uint16(ElementwiseTable& table) { fill_elementwise<std::uint16_t>(table); }

}  // namespace lamella::cuda
