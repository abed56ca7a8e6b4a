#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_float64(ElementwiseTable& table) { fill_elementwise<double>(table); }

}  // namespace lamella::cuda
