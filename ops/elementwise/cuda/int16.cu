#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_int16(ElementwiseTable& table) { fill_elementwise<std::int16_t>(table); }

}  // namespace lamella::cuda
