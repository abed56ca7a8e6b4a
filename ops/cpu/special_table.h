#pragma once

#include <cstdint>

namespace lamella::cpu {

/// A function of single numbers, for contiguous ones.
struct SpecialFunction {
  void (*float32)(const float* x, float* y, std::int64_t n) = nullptr;
  void (*float64)(const double* x, double* y, std::int64_t n) = nullptr;
};

struct SpecialTable {
  SpecialFunction i0, i0e, i1, i1e;
  SpecialFunction k0, k0e, k1, k1e;
  SpecialFunction j0, j1, y0, y1;
  SpecialFunction spherical_j0, spherical_j1;
  SpecialFunction airy_ai, airy_ai_slope;
  SpecialFunction erfcx, ndtri, log_ndtr, log_ndtr_slope;
};

void fill_special_modified_bessel(SpecialTable& table);
void fill_special_bessel(SpecialTable& table);
void fill_special_airy(SpecialTable& table);
void fill_special_normal(SpecialTable& table);

}  // namespace lamella::cpu
