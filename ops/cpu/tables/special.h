#pragma once

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

struct SpecialTable {
  SpecialFunction i0, i0e, i1, i1e;
  SpecialFunction k0, k0e, k1, k1e;
  SpecialFunction j0, j1, y0, y1;
  SpecialFunction spherical_j0, spherical_j1;
  SpecialFunction airy_ai, airy_ai_slope;
  SpecialFunction erfcx, ndtri, log_ndtr, log_ndtr_slope, logit, logit_slope;
  Recurrence recurrence;
};

void fill_special_modified_bessel(SpecialTable& table);
void fill_special_bessel(SpecialTable& table);
void fill_special_airy(SpecialTable& table);
void fill_special_normal(SpecialTable& table);
void fill_special_recurrence(SpecialTable& table);

}  // namespace lamella::cpu
