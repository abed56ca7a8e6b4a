#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_complex64(ElementwiseTable& table) { fill_elementwise<std::complex<float>>(table); }

}  // namespace lamella::cuda
