#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_float16(ElementwiseTable& table) { fill_elementwise<Half>(table); }

}  // namespace lamella::cuda
