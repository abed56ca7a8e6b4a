#include "ops/nn/dropout.h"

#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/random/random.h"

namespace lamella {

Tensor Dropout::call(const Tensor& x, double p, bool training, Generator* generator) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>("[dropout] p must lie in [0, 1], got ", p);
  if (!info.dtypes.contains(x.dtype())) fail<TypeError>("[dropout] does not take dtype ", x.dtype());
  check_generator("dropout", generator, x.device());
  if (!training || p == 0) return x;
  if (p == 1) return x * 0;
  const Tensor kept = rand(x.shape(), DType::Float32, x.device(), generator) >= p;
  return where(kept, x * (1 / (1 - p)), 0);
}

}  // namespace lamella
