// Ranges: numbers in arithmetic or geometric progression.

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>

#include "engine/core/default_device.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/creation/range.h"
#include "ops/movement/cast.h"
#include "ops/simd/convert.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtype_limits.h"

namespace lamella {
namespace {

/// Returns the number of steps from start to stop; throws ValueError if it is not a number or too large.
std::int64_t count_steps(double start, double stop, double step) {
  const double steps = std::ceil((stop - start) / step);
  if (!(steps < 0x1p62)) fail<ValueError>("[arange] cannot count from ", start, " to ", stop, " by ", step);
  return steps > 0 ? static_cast<std::int64_t>(steps) : 0;
}

std::int64_t count_steps(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                 : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return static_cast<std::int64_t>((distance - 1) / stride + 1);
}

/// Returns the number of steps between integers of which those beyond int64 are given modulo 2^64.
std::int64_t count_steps(Scalar start, Scalar stop, std::int64_t step) {
  if (start.beyond_int64() == stop.beyond_int64())
    return count_steps(start.to<std::int64_t>(), stop.to<std::int64_t>(), step);
  if (start.beyond_int64() == (step > 0)) return 0;
  const auto distance = step > 0 ? stop.to<std::uint64_t>() - start.to<std::uint64_t>()
                                 : start.to<std::uint64_t>() - stop.to<std::uint64_t>();
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  const std::uint64_t steps = (distance - 1) / stride;
  if (steps >= std::uint64_t{1} << 62) fail<ValueError>("[arange] cannot count so far by ", step);
  return static_cast<std::int64_t>(steps + 1);
}

/// Throws ValueError if an integer dtype does not hold the first or the last of `count` integers.
void check_holds(DType dtype, Scalar first, std::int64_t step, std::int64_t count) {
  if (count == 0 || !is_integral(dtype)) return;
  const std::uint64_t way = static_cast<std::uint64_t>(count - 1) * static_cast<std::uint64_t>(step);
  const std::uint64_t end = first.to<std::uint64_t>() + way;
  // Integers below 0 and those beyond int64 have the same bits: no sum passes from one to the other but by way of 0.
  const bool beyond = static_cast<std::int64_t>(end) < 0 &&
                      (step > 0 ? first.beyond_int64() || first.to<double>() >= 0 : first.beyond_int64());
  const Scalar last = beyond ? Scalar(end) : Scalar(static_cast<std::int64_t>(end));
  if (fits_into(first, dtype) && fits_into(last, dtype)) return;
  const auto text = [](Scalar s) {
    return s.beyond_int64() ? std::to_string(s.to<std::uint64_t>()) : std::to_string(s.to<std::int64_t>());
  };
  fail<ValueError>("[arange] ", dtype, " does not hold all integers from ", text(first), " to ", text(last));
}

/// Returns a tensor of `count` elements with element i equal to value(i). Index is double if value() returns a double:
/// CPUs convert several small integers at once, but not large ones. Each element is computed separately: a running sum
/// would accumulate errors, and its bits would depend on how threads share the work. The last element is *last if that
/// is given.
template <class Index, class Value>
Tensor filled_by(std::int64_t count, DType dtype, Device device, const Value& value,
                 const std::invoke_result_t<Value, Index>* last = nullptr) {
  if (device.is_meta()) return empty({count}, dtype, device);
  const Tensor out = empty({count}, dtype);
  const HostRelease release(count);
  visit<AnyDType>(dtype, "arange", [&]<class T> {
    parallel_for(0, count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      T* const data = out.data<T>();
      std::int64_t i = begin;
      // Groups of a fixed size compile to vector instructions.
      constexpr int kGroup = 16;
      for (; i + kGroup <= end; i += kGroup) {
        const auto first = static_cast<Index>(i);
        for (int k = 0; k < kGroup; ++k) data[i + k] = convert<T>(value(first + static_cast<Index>(k)));
      }
      for (; i < end; ++i) data[i] = convert<T>(value(static_cast<Index>(i)));
    });
    if (last && count > 0) out.data<T>()[count - 1] = convert<T>(*last);
  });
  return to_device(out, device);
}

/// Returns the integers from + i * by, modulo 2^64, because an intermediate product may not fit. A group is the
/// previous one plus a constant: the baseline instruction set has no 64-bit vector products.
Tensor counted(std::int64_t count, DType dtype, Device device, std::uint64_t from, std::uint64_t by) {
  if (device.is_meta()) return empty({count}, dtype, device);
  const Tensor out = empty({count}, dtype);
  const HostRelease release(count);
  visit<AnyDType>(dtype, "arange", [&]<class T> {
    parallel_for(0, count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      constexpr int kGroup = 16;
      std::uint64_t steps[kGroup];
      for (int k = 0; k < kGroup; ++k) steps[k] = static_cast<std::uint64_t>(k) * by;
      T* const data = out.data<T>();
      std::uint64_t first = from + static_cast<std::uint64_t>(begin) * by;
      std::int64_t i = begin;
      for (; i + kGroup <= end; i += kGroup, first += kGroup * by) {
        for (int k = 0; k < kGroup; ++k) data[i + k] = convert<T>(static_cast<std::int64_t>(first + steps[k]));
      }
      for (; i < end; ++i, first += by) data[i] = convert<T>(static_cast<std::int64_t>(first));
    });
  });
  return to_device(out, device);
}

/// Returns the tensor that the device's own kernel makes, or an undefined one if it has none.
Tensor made_there(std::int64_t count, DType dtype, Device device, const Range& range) {
  if (device.is_cpu() || device.is_meta() || !has_device_kernel<&DeviceKernels::range>(device)) return {};
  Tensor out = empty({count}, dtype, device);
  if (count > 0) device_kernel<&DeviceKernels::range>(device, "arange")(range, out);
  return out;
}

/// Returns the number at position `place` between two numbers, 0 for the first, 1 for the second.
double between(double start, double stop, double place) {
  const double distance = stop - start;
  return std::isfinite(distance) ? start + distance * place : start * (1 - place) + stop * place;
}

}  // namespace

Tensor Arange::call(Scalar start, std::optional<Scalar> stop, Scalar step, std::optional<DType> dtype,
                    std::optional<Device> device) {
  const Scalar first = stop ? start : Scalar(0);
  const Scalar last = stop ? *stop : start;
  const auto is_float = [](Scalar s) { return s.kind() == Scalar::Kind::Float; };
  const bool floating = is_float(first) || is_float(last) || is_float(step);
  const auto is_complex_number = [](Scalar s) { return s.kind() == Scalar::Kind::Complex; };
  if (is_complex_number(first) || is_complex_number(last) || is_complex_number(step))
    fail<TypeError>("[arange] complex numbers have no order to count in");
  if (step.to<double>() == 0) fail<ValueError>("[arange] step must not be 0");
  const Device place = device.value_or(default_device());
  // Integers beyond int64 are counted modulo 2^64, which only integers are.
  const bool large = (first.beyond_int64() || last.beyond_int64()) && dtype && !is_integral(*dtype);
  if (floating || large) {
    const double from = first.to<double>();
    const double by = step.to<double>();
    const std::int64_t count = count_steps(from, last.to<double>(), by);
    const DType wanted = dtype.value_or(kDefaultFloat);
    if (Tensor out = made_there(count, wanted, place, {.whole = false, .first = from, .step = by}); out.defined())
      return out;
    return filled_by<double>(count, wanted, place, [=](double i) { return from + i * by; });
  }
  const auto from = first.to<std::int64_t>();
  const auto by = step.to<std::int64_t>();
  const std::int64_t count = count_steps(first, last, by);
  const DType wanted = dtype.value_or(DType::Int64);
  check_holds(wanted, first, by, count);
  const Range range{
      .whole = true, .first_integer = static_cast<std::uint64_t>(from), .integer_step = static_cast<std::uint64_t>(by)};
  if (Tensor out = made_there(count, wanted, place, range); out.defined()) return out;
  return counted(count, wanted, place, range.first_integer, range.integer_step);
}

Tensor Linspace::call(Scalar start, Scalar stop, std::int64_t num, std::optional<DType> dtype,
                      std::optional<Device> device, bool endpoint) {
  if (num < 0) fail<ValueError>("[linspace] num must not be negative, got ", num);
  const bool complex = start.kind() == Scalar::Kind::Complex || stop.kind() == Scalar::Kind::Complex;
  const DType result = dtype.value_or(complex ? DType::Complex64 : kDefaultFloat);
  if (complex && !is_complex(result)) fail<TypeError>("[linspace] complex numbers do not fit into dtype ", result);
  const Device place = device.value_or(default_device());
  const auto intervals = static_cast<double>(endpoint ? num - 1 : num);
  const double last = endpoint && num > 1 ? intervals : -1;
  const auto spaced = [=](double from, double to, double i) {
    if (i == 0) return from;
    return i == last ? to : between(from, to, i / intervals);
  };
  const auto first = start.to<double>();
  const auto end = stop.to<double>();
  if (!complex && std::isfinite(end - first)) {
    // Uses numpy's formula, which needs no division per element, unless that rounds the step to 0.
    const double distance = end - first;
    const double step = distance / std::max(intervals, 1.0);
    if (step != 0 || distance == 0) {
      const Range range{.whole = false, .first = first, .step = step, .has_last = last > 0, .last = end};
      if (Tensor out = made_there(num, result, place, range); out.defined()) return out;
      return filled_by<double>(
          num, result, place, [=](double i) { return first + step * i; }, last > 0 ? &end : nullptr);
    }
  }
  if (!complex) return filled_by<double>(num, result, place, [=](double i) { return spaced(first, end, i); });
  const double first_imaginary = start.imaginary();
  const double end_imaginary = stop.imaginary();
  return filled_by<double>(num, result, place, [=](double i) {
    return std::complex<double>(spaced(first, end, i), spaced(first_imaginary, end_imaginary, i));
  });
}

Tensor Logspace::call(Scalar start, Scalar stop, std::int64_t num, Scalar base, std::optional<DType> dtype,
                      std::optional<Device> device, bool endpoint) {
  if (num < 0) fail<ValueError>("[logspace] num must not be negative, got ", num);
  const auto is_complex_number = [](Scalar s) { return s.kind() == Scalar::Kind::Complex; };
  const bool complex = is_complex_number(start) || is_complex_number(stop) || is_complex_number(base);
  const DType result = dtype.value_or(complex ? DType::Complex64 : kDefaultFloat);
  if (complex && !is_complex(result)) fail<TypeError>("[logspace] complex numbers do not fit into dtype ", result);
  // Powers are those of the C library, which are exact if the result is an integer.
  const Device place = device.value_or(default_device());
  const Tensor exponents = linspace(start, stop, num, complex ? DType::Complex128 : DType::Float64, kCPU, endpoint);
  if (complex) {
    const auto* const exponent = exponents.data<std::complex<double>>();
    const auto root = base.to<std::complex<double>>();
    return filled_by<std::int64_t>(num, result, place, [=](std::int64_t i) { return std::pow(root, exponent[i]); });
  }
  const auto* const exponent = exponents.data<double>();
  const auto root = base.to<double>();
  return filled_by<std::int64_t>(num, result, place, [=](std::int64_t i) { return std::pow(root, exponent[i]); });
}

}  // namespace lamella
