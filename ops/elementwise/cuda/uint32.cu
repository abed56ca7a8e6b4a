#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_uint32(ElementwiseTable& table) { fill_elementwise<std::uint32_t>(table); }

}  // namespace lamella::cuda
