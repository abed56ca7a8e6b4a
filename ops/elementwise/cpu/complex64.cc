#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_complex64(ElementwiseTable& table) { fill_elementwise<std::complex<float>>(table); }

}  // namespace lamella::cpu
