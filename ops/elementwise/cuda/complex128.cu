#include "ops/elementwise/cuda/kernel.h"

namespace lamella::cuda {

void fill_elementwise_complex128(ElementwiseTable& table) { fill_elementwise<std::complex<double>>(table); }

}  // namespace lamella::cuda
