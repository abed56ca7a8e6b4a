#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_uint8(ElementwiseTable& table) { fill_elementwise<std::uint8_t>(table); }

}  // namespace lamella::cuda
