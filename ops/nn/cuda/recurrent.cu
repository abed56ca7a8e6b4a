#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/nn/recurrent_cells.h"
#include "ops/nn/recurrent_steps.h"
#include "ops/simd/lane.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

using cpu::CellGradients;
using cpu::CellOutputs;
using cpu::CellStep;

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr const char* kName = "recurrent";

/// An element of a row.
template <class T>
struct Lanes {
  using Values = simd::Lane<T>;

  std::int64_t at;

  __device__ Values load(const T* row) const { return Values::load(row + at); }
  __device__ void store(Values v, T* row) const { v.store(row + at); }
};

template <class Cell, class T>
__global__ void __launch_bounds__(kGridThreads) forward_kernel(CellStep<T> step, CellOutputs<T> outputs) {
  for_each_element(step.rows * step.hidden,
                   [&](std::int64_t i) { Cell::forward(step, outputs, i / step.hidden, Lanes<T>{i % step.hidden}); });
}

template <class Cell, class T>
__global__ void __launch_bounds__(kGridThreads) backward_kernel(CellStep<T> step, CellGradients<T> gradients) {
  for_each_element(step.rows * step.hidden, [&](std::int64_t i) {
    Cell::backward(step, gradients, i / step.hidden, Lanes<T>{i % step.hidden});
  });
}

/// Calls f.operator()<Cell>() with the formulas of a cell.
template <class F>
void visit_cell(CellKind kind, F&& f) {
  switch (kind) {
    case CellKind::Tanh:
      return f.template operator()<recurrent::PlainCell<recurrent::TanhGate>>();
    case CellKind::Relu:
      return f.template operator()<recurrent::PlainCell<recurrent::ReluGate>>();
    case CellKind::Lstm:
      return f.template operator()<recurrent::LstmCell>();
    case CellKind::Gru:
      return f.template operator()<recurrent::GruCell>();
  }
}

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

template <class T>
CellStep<T> step_of(const CellOperands& given) {
  return {given.h.size(0),        given.h.size(1),   given.from_x.data<T>(),
          given.from_h.data<T>(), given.h.data<T>(), data_or_null<T>(given.c)};
}

void step_forward(const CellOperands& given, const Tensor& next_h, const Tensor& next_c) {
  const Device device = next_h.device();
  const DeviceGuard guard(device);
  visit<kTaken>(next_h.dtype(), kName, [&]<class T>() {
    visit_cell(given.kind, [&]<class Cell>() {
      launch(kName, forward_kernel<Cell, T>, grid_blocks(next_h.numel()), kGridThreads, 0, current_stream(device),
             step_of<T>(given), CellOutputs<T>{next_h.data<T>(), data_or_null<T>(next_c)});
    });
  });
}

void step_backward(const CellOperands& given, const CellArrows& arrows) {
  const Device device = given.h.device();
  const DeviceGuard guard(device);
  visit<kTaken>(given.h.dtype(), kName, [&]<class T>() {
    CellGradients<T> gradients{.dc = data_or_null<T>(arrows.dc),
                               .dfrom_x = arrows.dfrom_x.data<T>(),
                               .dfrom_h = data_or_null<T>(arrows.dfrom_h),
                               .directly = data_or_null<T>(arrows.directly),
                               .next_c = data_or_null<T>(arrows.next_c)};
    for (std::size_t k = 0; k < arrows.dh.size(); ++k) gradients.dh[k] = data_or_null<T>(arrows.dh[k]);
    visit_cell(given.kind, [&]<class Cell>() {
      launch(kName, backward_kernel<Cell, T>, grid_blocks(given.h.numel()), kGridThreads, 0, current_stream(device),
             step_of<T>(given), gradients);
    });
  });
}

[[maybe_unused]] const bool kRecurrentRegistered =
    register_kernel<&DeviceKernels::recurrent_step>(DeviceType::CUDA, step_forward) &&
    register_kernel<&DeviceKernels::recurrent_step_gradient>(DeviceType::CUDA, step_backward);

}  // namespace
}  // namespace lamella::cuda
