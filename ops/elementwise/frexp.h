#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Frexp {
  static constexpr OpInfo info{.name = "frexp",
                               .doc =
                                   "x as mantissa * 2 ** exponent, with a mantissa between 0.5 and 1 (or -0.5 and -1) "
                                   "and an int32 exponent. 0, infinities and NaN are their own mantissa, with the "
                                   "exponent 0. In the mantissa's gradient the exponent is a constant.",
                               .example = "frexp(asarray([1.0, -6.0]))",
                               .dtypes = Floating};
  static constexpr const char* kFields[] = {"mantissa", "exponent"};
  static std::vector<Tensor> call(const Tensor& x);
};

inline std::vector<Tensor> frexp(const Tensor& x) { return Frexp::call(x); }

}  // namespace lamella
