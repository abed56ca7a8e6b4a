#pragma once

#include <cstddef>
#include <cstdint>

namespace lamella::cpu {

/// A function of one number, applied to n contiguous numbers.
struct SpecialFunction {
  void (*float32)(const float* x, float* y, std::int64_t n) = nullptr;
  void (*float64)(const double* x, double* y, std::int64_t n) = nullptr;
};

/// One step: p_(k + 1)(x) = (a x + b) p_k(x) - c p_(k - 1)(x).
struct RecurrenceStep {
  double a = 0;
  double b = 0;
  double c = 0;
};

/// Computes p_n(x) of contiguous numbers, with p_0 = 1 and p_(-1) = 0; in double.
struct Recurrence {
  void (*float32)(const RecurrenceStep* steps, std::int64_t n, const float* x, float* y, std::int64_t count) = nullptr;
  void (*float64)(const RecurrenceStep* steps, std::int64_t n, const double* x, double* y,
                  std::int64_t count) = nullptr;
};

/// The functions of one number with kernels of their own.
enum class Special : std::uint8_t {
  I0,
  I0e,
  I0eSlope,
  I1,
  I1e,
  I1eSlope,
  K0,
  K0e,
  K0eSlope,
  K1,
  K1e,
  K1eSlope,
  J0,
  J1,
  Y0,
  Y1,
  SphericalJ0,
  SphericalJ1,
  AiryAi,
  AiryAiSlope,
  Erfcx,
  ErfcxSlope,
  Ndtri,
  LogNdtr,
  LogNdtrSlope,
  Logit,
  LogitSlope
};
inline constexpr int kSpecialCount = static_cast<int>(Special::LogitSlope) + 1;

struct SpecialTable {
  SpecialFunction functions[kSpecialCount] = {};
  Recurrence recurrence;

  SpecialFunction& operator[](Special function) { return functions[static_cast<std::size_t>(function)]; }
  const SpecialFunction& operator[](Special function) const { return functions[static_cast<std::size_t>(function)]; }
};

void fill_special_modified_bessel(SpecialTable& table);
void fill_special_bessel(SpecialTable& table);
void fill_special_airy(SpecialTable& table);
void fill_special_normal(SpecialTable& table);
void fill_special_recurrence(SpecialTable& table);

}  // namespace lamella::cpu
