#include "ops/optim/steps.h"

#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/optim/formulas.h"
#include "ops/simd/lane.h"
#include "ops/support/device_kernels.h"

// One launch moves all tensors of a group: a block finds the tensor to which its elements belong.

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kPerBlock = 8 * kThreads;  // elements
/// Most tensors per launch: a kernel's arguments are at most 4 KiB.
constexpr int kMostPieces = 64;

template <class T>
struct Piece {
  T* parameter;
  const T* gradient;
  T* states[optim::kMostStates];  ///< null where the formula does without
  std::int64_t count;
  std::int64_t first_block;
};

template <class T>
struct Pieces {
  int count = 0;
  std::int64_t blocks = 0;
  Piece<T> all[kMostPieces];
};

template <class F, class T>
__global__ void __launch_bounds__(kThreads)
    step_kernel(const F formula, const optim::Shared<T> shared, const __grid_constant__ Pieces<T> pieces) {
  int number = 0;
  for (int above = pieces.count; above - number > 1;) {
    const int middle = (number + above) / 2;
    (pieces.all[middle].first_block <= blockIdx.x ? number : above) = middle;
  }
  const Piece<T>& piece = pieces.all[number];
  const std::int64_t first = (blockIdx.x - piece.first_block) * kPerBlock;
  const std::int64_t end = min(first + kPerBlock, piece.count);
  for (std::int64_t i = first + threadIdx.x; i < end; i += kThreads) {
    simd::Lane<T> parameter(piece.parameter[i]);
    std::array<simd::Lane<T>, F::kStates> states;
    for (std::size_t k = 0; k != F::kStates; ++k) states[k] = piece.states[k] ? piece.states[k][i] : T(0);
    optim::advance(formula, shared, parameter, simd::Lane<T>(piece.gradient[i]), states);
    for (std::size_t k = 0; k != F::kStates; ++k) {
      if (piece.states[k]) states[k].store(&piece.states[k][i]);
    }
    parameter.store(&piece.parameter[i]);
  }
}

template <class F, class T>
void run(std::span<const optim::Target* const> targets, std::span<const double> numbers,
         const optim::Shared<double>& shared) {
  const Device device = targets[0]->parameter.device();
  const DeviceGuard guard(device);
  const F formula = optim::formula_of<F, T>(numbers.data());
  Pieces<T> pieces;
  const auto flush = [&] {
    if (pieces.count == 0) return;
    launch(F::kName, step_kernel<F, T>, static_cast<unsigned>(pieces.blocks), kThreads, 0, current_stream(device),
           formula, optim::shared_of<T>(shared), pieces);
    pieces.count = 0;
    pieces.blocks = 0;
  };
  for (const optim::Target* target : targets) {
    const std::int64_t count = target->parameter.numel();
    if (count == 0) continue;
    Piece<T>& piece = pieces.all[pieces.count++];
    piece = {target->parameter.data<T>(), target->gradient.data<T>(), {}, count, pieces.blocks};
    for (std::size_t k = 0; k != F::kStates; ++k) {
      if (target->states[k].defined()) piece.states[k] = target->states[k].data<T>();
    }
    pieces.blocks += (count + kPerBlock - 1) / kPerBlock;
    if (pieces.count == kMostPieces) flush();
  }
  flush();
}

using Run = void (*)(std::span<const optim::Target* const>, std::span<const double>, const optim::Shared<double>&);

template <class T, template <class> class... F>
Run run_of(std::size_t formula, optim::FormulaList<F...>) {
  static constexpr Run kRuns[] = {run<F<T>, T>...};
  return kRuns[formula];
}

void step(std::size_t formula, std::span<const optim::Target* const> targets, std::span<const double> numbers,
          const optim::Shared<double>& shared) {
  if (targets.empty()) return;
  const bool single = targets[0]->parameter.dtype() == DType::Float32;
  const Run run = single ? run_of<float>(formula, optim::Formulas()) : run_of<double>(formula, optim::Formulas());
  run(targets, numbers, shared);
}

[[maybe_unused]] const bool kStepsRegistered = register_kernel<&DeviceKernels::optimizer_step>(DeviceType::CUDA, step);

}  // namespace
}  // namespace lamella::cuda
