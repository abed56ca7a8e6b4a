#include "ops/linalg/matrices.h"

#include "engine/core/error.h"
#include "ops/support/checks.h"

namespace lamella::linalg {

void check_matrices(const Tensor& x, const char* op) {
  check_defined(x, op);
  check_dtype(x, Decomposable, op);
  if (x.ndim() < 2) fail<ValueError>("[", op, "] needs matrices, with at least two axes, got shape ", x.shape());
}

void check_square(const Tensor& x, const char* op) {
  check_matrices(x, op);
  if (x.size(-1) != x.size(-2)) fail<ValueError>("[", op, "] needs square matrices, got shape ", x.shape());
}

}  // namespace lamella::linalg
