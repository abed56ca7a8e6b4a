#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/shrink.h"

// Checks of settings that are numbers.

namespace lamella {
namespace {

/// Returns the value of a setting that is a real number, else NaN, which passes every comparison that refuses a range.
double real_number(const Operand& setting) {
  if (!setting.is_number() || setting.number().kind() == Scalar::Kind::Complex) return __builtin_nan("");
  return setting.number().to<double>();
}

}  // namespace

void Hardtanh::check_settings(const Operand&, const Operand& min_val, const Operand& max_val) {
  const double low = real_number(min_val);
  const double high = real_number(max_val);
  if (low > high) fail<ValueError>("[hardtanh] min_val must not be above max_val, got ", low, " and ", high);
}

void Softshrink::check_settings(const Operand&, const Operand& lambd) {
  const double width = real_number(lambd);
  if (width < 0) fail<ValueError>("[softshrink] lambd must not be negative, got ", width);
}

}  // namespace lamella
