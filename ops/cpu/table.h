#pragma once

#include "engine/core/dtype.h"
#include "ops/cpu/attention_table.h"
#include "ops/cpu/ctc_table.h"
#include "ops/cpu/distance_table.h"
#include "ops/cpu/elementwise_table.h"
#include "ops/cpu/fft_table.h"
#include "ops/cpu/grid_table.h"
#include "ops/cpu/lu_table.h"
#include "ops/cpu/matmul_table.h"
#include "ops/cpu/moments_table.h"
#include "ops/cpu/movement_table.h"
#include "ops/cpu/norm_table.h"
#include "ops/cpu/optimizer_table.h"
#include "ops/cpu/picks_table.h"
#include "ops/cpu/pool_table.h"
#include "ops/cpu/random_table.h"
#include "ops/cpu/reduce_table.h"
#include "ops/cpu/reflections_table.h"
#include "ops/cpu/resample_table.h"
#include "ops/cpu/scan_table.h"
#include "ops/cpu/select_table.h"
#include "ops/cpu/softmax_table.h"
#include "ops/cpu/special_table.h"
#include "ops/cpu/triangle_table.h"

namespace lamella::cpu {

/// Everything that a kernel module gives: it exports one function that returns this, and no other symbol.
struct KernelTable {
  const char* isa;
  ElementwiseTable elementwise;
  MovementKernels movement;
  ReduceKernels reduce;
  MomentTable moments;
  PickKernels picks;
  ScanKernels scan;
  SelectKernels select;
  MatmulKernels matmul;
  SoftmaxTable softmax;
  FftTable fft;
  RandomKernels random;
  NormTable norm;
  PoolKernels pool;
  ResampleTable resample;
  AttentionTable attention;
  OptimizerTable optimizer;
  DistanceTable distance;
  GridTable grid;
  CtcTable ctc;
  LuKernels lu;
  TriangleKernels triangle;
  ReflectionKernels reflections;
  SpecialTable special;
};

}  // namespace lamella::cpu

/// The one symbol of a kernel module.
extern "C" [[gnu::visibility("default")]] const lamella::cpu::KernelTable* lamella_cpu_kernels();
