#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_int8(ElementwiseTable& table) { fill_elementwise<std::int8_t>(table); }

}  // namespace lamella::cuda
