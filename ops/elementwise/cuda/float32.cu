#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_float32(ElementwiseTable& table) { fill_elementwise<float>(table); }

}  // namespace lamella::cuda
