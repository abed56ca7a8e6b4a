#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_bfloat16(ElementwiseTable& table) { fill_elementwise<BFloat16>(table); }

}  // namespace lamella::cuda
