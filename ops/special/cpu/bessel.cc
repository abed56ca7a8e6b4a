#include "ops/special/formulas/bessel.h"

#include "ops/special/cpu/loops.h"

namespace lamella::cpu {

void fill_special_bessel(SpecialTable& table) {
  table[Special::J0] = kInDouble<special::BesselJ0>;
  table[Special::J1] = kInDouble<special::BesselJ1>;
  table[Special::Y0] = kInDouble<special::BesselY<special::BesselOrder0>>;
  table[Special::Y1] = kInDouble<special::BesselY<special::BesselOrder1>>;
  table[Special::SphericalJ0] = kInDouble<special::SphericalJ0>;
  table[Special::SphericalJ1] = kInDouble<special::SphericalJ1>;
}

}  // namespace lamella::cpu
