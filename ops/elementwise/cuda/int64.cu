#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_int64(ElementwiseTable& table) { fill_elementwise<std::int64_t>(table); }

}  // namespace lamella::cuda
