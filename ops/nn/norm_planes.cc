#include "ops/nn/norm_planes.h"

#include <cmath>
#include <limits>
#include <vector>

namespace lamella {

bool measure_widely(const Tensor& x, const NormSetting& setting, double* mean, double* variance, double* rstd) {
  constexpr double kLeast = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  const NormPlanes planes(x, setting.over);
  std::vector<bool> beyond(static_cast<std::size_t>(planes.measures()));
  bool any = false;
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    const double sum = variance[i] + setting.eps;
    beyond[i] = !(sum > kLeast && sum < std::numeric_limits<double>::infinity());
    any = any || beyond[i];
  }
  if (!any) return false;
  const double* const values = x.data<double>();
  const auto for_each = [&](auto&& f) {
    planes.for_each(0, planes.count, [&](std::int64_t plane, std::int64_t of, std::int64_t) {
      const auto measure = static_cast<std::size_t>(of);
      if (!beyond[measure]) return;
      for (std::int64_t i = plane * planes.size; i < (plane + 1) * planes.size; ++i)
        f(measure, static_cast<long double>(values[i]));
    });
  };
  const auto elements = static_cast<long double>(planes.elements());
  std::vector<long double> means(beyond.size(), 0);
  std::vector<long double> squares(beyond.size(), 0);
  for_each([&](std::size_t measure, long double value) { means[measure] += value / elements; });
  for_each([&](std::size_t measure, long double value) {
    const long double apart = value - means[measure];
    squares[measure] += apart * apart / elements;
  });
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    if (!beyond[i]) continue;
    mean[i] = static_cast<double>(means[i]);
    variance[i] = static_cast<double>(squares[i]);
    rstd[i] = static_cast<double>(1 / std::sqrt(squares[i] + static_cast<long double>(setting.eps)));
  }
  return true;
}

}  // namespace lamella
