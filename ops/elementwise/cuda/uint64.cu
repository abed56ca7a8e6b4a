#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_uint64(ElementwiseTable& table) { fill_elementwise<std::uint64_t>(table); }

}  // namespace lamella::cuda
