#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_bool(ElementwiseTable& table) { fill_elementwise<bool>(table); }

}  // namespace lamella::cuda
