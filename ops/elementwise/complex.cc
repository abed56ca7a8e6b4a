#include "ops/elementwise/complex.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/shape/complex_view.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

bool check_complex(const Tensor& x, const char* op) {
  check_defined(x, op);
  return is_complex(x.dtype());
}

constexpr std::complex<double> kI{0, 1};

}  // namespace

Tensor Conj::call(const Tensor& x) { return check_complex(x, info.name) ? Unary<Conj>::call(x) : x; }

Tensor RealPart::call(const Tensor& x) { return check_complex(x, info.name) ? part_of(x, 0) : x; }

Tensor ImaginaryPart::call(const Tensor& x) { return check_complex(x, info.name) ? part_of(x, 1) : zeros_like(x); }

Tensor complex_from(const Tensor& x) { return cast(x, complex_dtype(x.dtype())); }

Tensor complex_from_imaginary(const Tensor& x) { return from_imaginary(x); }

Tensor angle_gradient(const Tensor& x, const Tensor& dy) {
  if (!is_complex(x.dtype())) return 0 * dy;
  // Computes i x / |x|^2 without the square, which may overflow or underflow.
  const Tensor origin = x == 0;
  return where(origin, 0, dy * Scalar(kI) / conj(where(origin, 1, x)));
}

}  // namespace lamella
