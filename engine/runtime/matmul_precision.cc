#include "engine/runtime/matmul_precision.h"

#include <atomic>

namespace lamella {
namespace {

std::atomic<MatmulPrecision> chosen{MatmulPrecision::Highest};

}  // namespace

void set_float32_matmul_precision(MatmulPrecision precision) noexcept {
  chosen.store(precision, std::memory_order_relaxed);
}

MatmulPrecision float32_matmul_precision() noexcept { return chosen.load(std::memory_order_relaxed); }

}  // namespace lamella
