#pragma once

#include "engine/core/dtype.h"
#include "ops/cpu/elementwise_table.h"

namespace lamella::cpu {

/// Everything that a kernel module gives: it exports one function that returns this, and no other symbol.
struct KernelTable {
  const char* isa;
  ElementwiseTable elementwise;
};

}  // namespace lamella::cpu

/// The one symbol of a kernel module.
extern "C" const lamella::cpu::KernelTable* lamella_cpu_kernels();
