#include "ops/special/formulas/normal.h"

#include "ops/special/cpu/loops.h"

namespace lamella::cpu {

void fill_special_normal(SpecialTable& table) {
  table[Special::Erfcx] = kInDouble<special::Erfcx>;
  table[Special::ErfcxSlope] = kInDouble<special::ErfcxSlope>;
  table[Special::Ndtri] = kInDouble<special::Ndtri>;
  table[Special::LogNdtr] = kInDouble<special::LogNdtr>;
  table[Special::LogNdtrSlope] = kInDouble<special::LogNdtrSlope>;
  table[Special::Logit] = kInBoth<special::Logit>;
  table[Special::LogitSlope] = kInBoth<special::LogitSlope>;
}

}  // namespace lamella::cpu
