#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_int32(ElementwiseTable& table) { fill_elementwise<std::int32_t>(table); }

}  // namespace lamella::cuda
