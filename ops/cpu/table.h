#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/cpu/table.h"
#include "ops/fft/cpu/table.h"
#include "ops/index/cpu/loops_table.h"
#include "ops/linalg/cpu/elimination_table.h"
#include "ops/linalg/cpu/matmul_table.h"
#include "ops/linalg/cpu/reflections_table.h"
#include "ops/linalg/cpu/triangles_table.h"
#include "ops/movement/cpu/movement_table.h"
#include "ops/nn/cpu/attention_table.h"
#include "ops/nn/cpu/ctc_table.h"
#include "ops/nn/cpu/distance_table.h"
#include "ops/nn/cpu/grid_sample_table.h"
#include "ops/nn/cpu/interpolate_table.h"
#include "ops/nn/cpu/norm_table.h"
#include "ops/nn/cpu/pool_table.h"
#include "ops/nn/cpu/softmax_table.h"
#include "ops/optim/cpu/steps_table.h"
#include "ops/random/cpu/fill_table.h"
#include "ops/reduce/cpu/moments_table.h"
#include "ops/reduce/cpu/table.h"
#include "ops/scan/cpu/table.h"
#include "ops/sort/cpu/rows_table.h"
#include "ops/special/cpu/table.h"

namespace lamella::cpu {

/// All kernels of a module. A module exports one function, which returns this table, and no other symbol.
struct KernelTable {
  const char* isa;
  ElementwiseTable elementwise;
  MovementKernels movement;
  ReduceKernels reduce;
  MomentTable moments;
  IndexKernels index;
  ScanKernels scan;
  SortKernels sort;
  MatmulKernels matmul;
  SoftmaxTable softmax;
  FftTable fft;
  RandomKernels random;
  NormTable norm;
  PoolKernels pool;
  InterpolateTable interpolate;
  AttentionTable attention;
  OptimizerTable optimizer;
  DistanceTable distance;
  GridSampleTable grid_sample;
  CtcTable ctc;
  EliminationKernels elimination;
  TriangleKernels triangle;
  ReflectionKernels reflections;
  SpecialTable special;
};

}  // namespace lamella::cpu

/// The only exported symbol of a kernel module.
extern "C" [[gnu::visibility("default")]] const lamella::cpu::KernelTable* lamella_cpu_kernels();
