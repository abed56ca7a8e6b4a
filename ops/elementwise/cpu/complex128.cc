#include "ops/elementwise/cpu/kernel.h"

namespace lamella::cpu {

void fill_elementwise_complex128(ElementwiseTable& table) { fill_elementwise<std::complex<double>>(table); }

}  // namespace lamella::cpu
