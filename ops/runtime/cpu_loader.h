#pragma once

#include <string_view>

#include "ops/cpu/table.h"

namespace lamella {

namespace detail {
const cpu::KernelTable* load_cpu_kernels();
extern const cpu::KernelTable* loaded_cpu_kernels;
}  // namespace detail

/// The kernels for this machine: of the modules beside the library, the one for the best instruction set that the
/// processor has, or the one that the environment variable LAMELLA_CPU_ISA names. RuntimeError where there is none that
/// can run.
inline const cpu::KernelTable& cpu_kernels() {
  const cpu::KernelTable* table = __atomic_load_n(&detail::loaded_cpu_kernels, __ATOMIC_ACQUIRE);
  return table ? *table : *detail::load_cpu_kernels();
}

namespace cpu {

/// The instruction set of the kernels in use, for example "x86-64-v3".
inline std::string_view instruction_set() { return cpu_kernels().isa; }

}  // namespace cpu
}  // namespace lamella
