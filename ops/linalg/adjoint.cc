#include "ops/linalg/adjoint.h"

#include "ops/elementwise/complex.h"
#include "ops/shape/permute.h"

namespace lamella::linalg {

Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }

Tensor adjoint(const Tensor& x) { return matrix_transpose(conjugate(x)); }

}  // namespace lamella::linalg
