#pragma once

#include "engine/core/dtype.h"
#include "ops/cpu/tables/attention.h"
#include "ops/cpu/tables/cross_entropy.h"
#include "ops/cpu/tables/ctc.h"
#include "ops/cpu/tables/distance.h"
#include "ops/cpu/tables/elementwise.h"
#include "ops/cpu/tables/elimination.h"
#include "ops/cpu/tables/fft.h"
#include "ops/cpu/tables/grid_sample.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/cpu/tables/interpolate.h"
#include "ops/cpu/tables/matmul.h"
#include "ops/cpu/tables/moments.h"
#include "ops/cpu/tables/movement.h"
#include "ops/cpu/tables/norm.h"
#include "ops/cpu/tables/optimizer_steps.h"
#include "ops/cpu/tables/pool.h"
#include "ops/cpu/tables/random_fill.h"
#include "ops/cpu/tables/recurrent.h"
#include "ops/cpu/tables/reduce.h"
#include "ops/cpu/tables/reflections.h"
#include "ops/cpu/tables/scan.h"
#include "ops/cpu/tables/softmax.h"
#include "ops/cpu/tables/sorted_rows.h"
#include "ops/cpu/tables/special.h"
#include "ops/cpu/tables/triangles.h"
#include "ops/cpu/tables/vector_functions.h"

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
  CrossEntropyTable cross_entropy;
  RecurrentTable recurrent;
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
  VectorFunctionTable vectors;
};

}  // namespace lamella::cpu

/// The only exported symbol of a kernel module.
extern "C" [[gnu::visibility("default")]] const lamella::cpu::KernelTable* lamella_cpu_kernels();
