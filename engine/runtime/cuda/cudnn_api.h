#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// The part of cuDNN's graph interface in use, declared here so that builds need none of its files. It is the same in
// every version 9. tests/cuda/cudnn_test.cc compares the numbers with those of cuDNN's headers, where they are
// installed.

namespace lamella::cuda::cudnn {

enum class Status : int { Success = 0, BadParameter = 2000, NotFinalized = 2004, NotSupported = 3000, Failed = 5000 };

enum class DataType : int { Float32 = 0, Float64 = 1, Float16 = 2, Int32 = 4, BFloat16 = 9, Boolean = 11 };
enum class ConvolutionMode : int { CrossCorrelation = 1 };
enum class PointwiseMode : int {
  Add = 0,
  Multiply = 1,
  Divide = 6,
  Subtract = 9,
  Exp = 13,
  Log = 15,
  Identity = 21,
  GreaterEqual = 303,
  Index = 501,   ///< the place along an axis
  Select = 601,  ///< x where t is true, else b
};
enum class ReductionMode : int { Add = 0, Max = 3 };
enum class HeuristicMode : int { Fallback = 2, A = 3 };
/// Properties of an engine, which is an algorithm for a graph of operations.
enum class Note : int {
  TensorCore = 0,
  DownConvertInputs = 1,
  ReducedPrecisionReduction = 2,
  Fft = 3,
  Nondeterministic = 4,
  Winograd = 5,
  WinogradTile4x4 = 6,
  WinogradTile6x6 = 7,
  WinogradTile13x13 = 8,
  /// None of cuDNN's: an engine's setting by which slices of a sum are added in buffers. By the memory that such plans
  /// ask for, there is one buffer less than slices: one of them passes through the result, whose type may round it.
  SlicedSum = 100,
};
/// Number of notes that there are, more than these.
inline constexpr std::int64_t kNotes = 10;

/// Settings of an engine.
enum class Knob : int { Slices = 17 };
/// Number of settings that there are, more than these.
inline constexpr std::int64_t kKnobs = 48;

/// Kinds of descriptors.
enum class Kind : int {
  PointwiseSetting = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  Heuristics = 4,
  Plan = 5,
  KnobChoice = 7,
  Forward = 10,
  BackwardFilter = 11,
  BackwardData = 12,
  Pointwise = 13,
  Graph = 15,
  VariantPack = 16,
  Tensor = 17,
  MatmulSetting = 18,
  Matmul = 19,
  ReductionSetting = 21,
  Reduction = 22,
  Reshape = 31,
};

/// Types of attributes' values.
enum class Type : int {
  Handle = 0,
  DataType = 1,
  Bool = 2,
  Int64 = 3,
  Float = 4,
  Double = 5,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicMode = 8,
  Knob = 9,
  Note = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  ReductionMode = 18,
};

enum class Attribute : int {
  PointwiseMode = 0,
  PointwiseComputeType = 1,
  PointwiseAxis = 9,
  ConvolutionComputeType = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialAxes = 106,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  EngineConfigEngine = 300,
  EngineConfigKnobs = 302,
  PlanHandle = 400,
  PlanEngineConfig = 401,
  PlanWorkspaceSize = 402,
  KnobChoiceKnob = 600,
  KnobChoiceValue = 601,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardW = 703,
  ForwardX = 704,
  ForwardY = 705,
  BackwardDataAlpha = 706,
  BackwardDataBeta = 707,
  BackwardDataConvolution = 708,
  BackwardDataW = 709,
  BackwardDataDx = 710,
  BackwardDataDy = 711,
  BackwardFilterAlpha = 712,
  BackwardFilterBeta = 713,
  BackwardFilterConvolution = 714,
  BackwardFilterDw = 715,
  BackwardFilterX = 716,
  BackwardFilterDy = 717,
  PointwiseSetting = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseY = 753,
  PointwiseT = 758,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorByteAlignment = 900,
  TensorDataType = 901,
  TensorDimensions = 902,
  TensorStrides = 903,
  TensorUniqueId = 906,
  TensorIsVirtual = 907,
  TensorIsByValue = 908,
  VariantPackUniqueIds = 1000,
  VariantPackDataPointers = 1001,
  VariantPackWorkspace = 1003,
  EngineNotes = 1303,
  MatmulComputeType = 1500,
  MatmulA = 1520,
  MatmulB = 1521,
  MatmulC = 1522,
  MatmulSetting = 1523,
  ReductionMode = 1600,
  ReductionComputeType = 1601,
  ReductionX = 1610,
  ReductionY = 1611,
  ReductionSetting = 1612,
  ReshapeX = 2200,
  ReshapeY = 2201,
};

// cuDNN's own
struct Context;
struct Descriptor;

/// The functions in use, which bear cuDNN's names there.
struct Api {
  std::size_t (*version)();
  const char* (*error_string)(Status status);
  Status (*create)(Context** made);
  Status (*set_stream)(Context* context, cudaStream_t stream);
  Status (*create_descriptor)(Kind kind, Descriptor** made);
  Status (*destroy_descriptor)(Descriptor* descriptor);
  Status (*set_attribute)(Descriptor* descriptor, Attribute name, Type type, std::int64_t count, const void* values);
  Status (*get_attribute)(Descriptor* descriptor, Attribute name, Type type, std::int64_t room, std::int64_t* count,
                          void* values);
  Status (*finalize)(Descriptor* descriptor);
  Status (*execute)(Context* context, Descriptor* plan, Descriptor* variant_pack);
};

}  // namespace lamella::cuda::cudnn
