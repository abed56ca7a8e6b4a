#include "ops/special/formulas/modified_bessel.h"

#include "ops/special/cpu/loops.h"

namespace lamella::cpu {

void fill_special_modified_bessel(SpecialTable& table) {
  table[Special::I0] = kInBoth<special::ModifiedI0>;
  table[Special::I0e] = kInBoth<special::ScaledModifiedI0>;
  table[Special::I0eSlope] = kInDouble<special::ScaledModifiedI0Slope>;
  table[Special::I1] = kInBoth<special::ModifiedI1>;
  table[Special::I1e] = kInBoth<special::ScaledModifiedI1>;
  table[Special::I1eSlope] = kInDouble<special::ScaledModifiedI1Slope>;
  table[Special::K0] = kInDouble<special::ModifiedK<special::ModifiedOrder0>>;
  table[Special::K0e] = kInDouble<special::ScaledModifiedK<special::ModifiedOrder0>>;
  table[Special::K0eSlope] = kInDouble<special::ScaledModifiedK0Slope>;
  table[Special::K1] = kInDouble<special::ModifiedK<special::ModifiedOrder1>>;
  table[Special::K1e] = kInDouble<special::ScaledModifiedK<special::ModifiedOrder1>>;
  table[Special::K1eSlope] = kInDouble<special::ScaledModifiedK1Slope>;
}

}  // namespace lamella::cpu
