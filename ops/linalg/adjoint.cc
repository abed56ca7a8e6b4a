#include "ops/linalg/adjoint.h"

#include "engine/core/error.h"
#include "ops/shape/permute.h"

namespace lamella::linalg {

Tensor conjugate(const Tensor& x) {
  if (is_complex(x.dtype())) fail<NotImplementedError>("[conj] has no kernel for dtype ", x.dtype());
  return x;
}

Tensor adjoint(const Tensor& x) { return matrix_transpose(conjugate(x)); }

}  // namespace lamella::linalg
