#include "ops/special/formulas/airy.h"

#include "ops/special/cpu/loops.h"

namespace lamella::cpu {

void fill_special_airy(SpecialTable& table) {
  table[Special::AiryAi] = kInDouble<special::AiryInParts<special::AiryAi>>;
  table[Special::AiryAiSlope] = kInDouble<special::AiryInParts<special::AiryAiSlope>>;
}

}  // namespace lamella::cpu
