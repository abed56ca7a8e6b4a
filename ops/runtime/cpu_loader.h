#pragma once

#include <string_view>

#include "ops/cpu/table.h"

namespace lamella {

namespace detail {
const cpu::KernelTable* load_cpu_kernels();
extern const cpu::KernelTable* loaded_cpu_kernels;
}  // namespace detail

/// Returns the kernels for this machine, loaded with the first call: from the module for the best instruction set that
/// the processor has, or for the one that the environment variable LAMELLA_CPU_ISA names. Throws RuntimeError if no
/// module can run.
inline const cpu::KernelTable& cpu_kernels() {
  const cpu::KernelTable* table = __atomic_load_n(&detail::loaded_cpu_kernels, __ATOMIC_ACQUIRE);
  return table ? *table : *detail::load_cpu_kernels();
}

namespace cpu {

/// Returns the kernels for float or double of a table that has both.
template <class T, class Table>
const auto& kernels_of(const Table& table) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return table.float32;
  } else {
    return table.float64;
  }
}

/// Returns the name of the instruction set of the kernels in use, such as "x86-64-v3".
inline std::string_view instruction_set() { return cpu_kernels().isa; }

}  // namespace cpu
}  // namespace lamella
