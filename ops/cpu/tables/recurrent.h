#pragma once

#include <cstdint>

namespace lamella::cpu {

/// One step of a recurrent cell, from the products of x and of h with the weights, a row of gates for each sequence.
template <class T>
struct CellStep {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  const T* from_x = nullptr;  ///< [rows, gates * hidden]
  const T* from_h = nullptr;
  const T* h = nullptr;  ///< state before the step, [rows, hidden]
  const T* c = nullptr;  ///< memory before the step; null for a cell without one
};

/// State and memory after a step. The memory may be where that before the step is.
template <class T>
struct CellOutputs {
  T* h = nullptr;
  T* c = nullptr;
};

/// Gradients that come into a step and those that leave it.
template <class T>
struct CellGradients {
  const T* dh[3] = {};   ///< parts of the gradient of the next state; null for those that are missing
  T* dc = nullptr;       ///< gradient of the next memory, replaced by that of the memory before the step
  T* dfrom_x = nullptr;  ///< gradient of from_x; that of from_h as well where `dfrom_h` is null
  T* dfrom_h = nullptr;
  T* directly = nullptr;      ///< gradient of h that does not flow through from_h; null for a cell without one
  const T* next_c = nullptr;  ///< memory after the step
};

template <class T>
struct CellKernels {
  void (*forward)(const CellStep<T>& step, const CellOutputs<T>& outputs) = nullptr;
  void (*backward)(const CellStep<T>& step, const CellGradients<T>& gradients) = nullptr;
};

template <class T>
struct RecurrentKernels {
  CellKernels<T> tanh;
  CellKernels<T> relu;
  CellKernels<T> lstm;
  CellKernels<T> gru;
};

struct RecurrentTable {
  RecurrentKernels<float> float32;
  RecurrentKernels<double> float64;
};

void fill_recurrent(RecurrentTable& table);

}  // namespace lamella::cpu
