#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/core/tensor.h"
#include "engine/runtime/late_error.h"
#include "ops/cpu/tables/reduce.h"
#include "ops/cpu/tables/scan.h"
#include "ops/cpu/tables/sorted_rows.h"
#include "ops/cpu/tables/special.h"
#include "ops/support/checks.h"

namespace lamella {

struct AttentionGradients;
struct AttentionResult;
struct AttentionSettings;
struct BatchStatistics;
struct CellArrows;
struct CellOperands;
struct ColumnSteps;
struct CtcSequences;
struct ElementwiseOp;
struct FftCall;
struct ImageWindows;
struct NormGrads;
struct NormMeasures;
class NormSetting;
enum class PickAction : std::uint8_t;
struct PoolCall;
struct Range;
struct ResampleRule;
namespace cpu {
struct GridSetting;
}
namespace detail {
struct ConvProblem;
}
namespace random {
struct Fill;
enum class Sampler : std::uint8_t;
}  // namespace random
namespace linalg {
struct Triangle;
}
namespace special {
enum class PairFunction : std::uint8_t;
struct Polynomial;
}  // namespace special
namespace optim {
template <class S>
struct Shared;
struct Target;
}  // namespace optim

/// The kernels of one type of device: the CPU, CUDA, or a device of an extension. A member is null if the device has no
/// such kernel.
struct DeviceKernels {
  /// Writes the values of `from` into `to`, which has the same shape; any strides and dtypes. At least one of them is
  /// on the device; the other one may be on the CPU.
  void (*copy)(const Tensor& to, const Tensor& from) = nullptr;
  /// Sets every element of `to` to the element at `value`, in host memory.
  void (*fill)(const Tensor& to, const void* value) = nullptr;
  /// Computes `out = kernel(operands)` for kernel `wrt` of an operator (-1: forward); `dtype` is the inputs' dtype.
  /// Each operand broadcasts to out's shape; an operand with a single element may be in host memory.
  void (*elementwise)(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                      DType dtype) = nullptr;
  /// Reduces `axes` of x (sorted, with at least one element in all) into the contiguous `out`, whose axes are the
  /// others.
  void (*reduce)(cpu::Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out,
                 const char* op) = nullptr;
  /// Corrects those among `norms`, the roots of order p of the sums `totals` of |x|^p over `axes`, that are lost as
  /// powers are beyond the range of numbers: computes them from x. Both are contiguous.
  void (*rescale_norms)(const Tensor& x, const Dims& axes, double p, const Tensor& totals, const Tensor& norms,
                        const char* op) = nullptr;
  /// Computes out = a @ b for batches of matrices whose leading axes broadcast to those of `out`, which is contiguous.
  /// Returns true if `bias`, which may be undefined, was added as well.
  bool (*matmul)(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op) = nullptr;
  /// Returns the softmax, or its logarithm, of the contiguous x along an axis. The axis is the last one, except on the
  /// CPU.
  Tensor (*softmax)(const Tensor& x, std::size_t axis, bool log) = nullptr;
  /// Returns the gradient of softmax from its result y and the gradient dy, both contiguous.
  Tensor (*softmax_gradient)(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) = nullptr;
  /// Computes the terms of cross_entropy for each row of the contiguous matrix x, and what its gradient needs beside x:
  /// `numbers` has the class of each row, negative for rows that count for nothing, which are not read.
  std::pair<Tensor, Tensor> (*cross_entropy)(const Tensor& x, const Tensor& numbers, double smoothing) = nullptr;
  /// Returns the gradient of x from that of the terms, with the same arguments and what cross_entropy gave for it.
  Tensor (*cross_entropy_gradient)(const Tensor& x, const Tensor& numbers, double smoothing, const Tensor& powers,
                                   const Tensor& dterms) = nullptr;
  /// Gathers rows of a contiguous matrix: result[i] = matrix[rows[i]]. A row of a negative number is 0 here, and none
  /// in those below.
  Tensor (*gather_rows)(const Tensor& matrix, const Tensor& rows) = nullptr;
  /// Adds the rows of a matrix into a new one of `count` rows: result[rows[i]] += matrix[i]; the order is fixed.
  Tensor (*scatter_rows)(const Tensor& matrix, const Tensor& rows, std::int64_t count) = nullptr;
  /// Writes rows into a contiguous matrix: matrix[rows[i]] = values[i]; of equal rows the last one counts.
  void (*put_rows)(const Tensor& matrix, const Tensor& rows, const Tensor& values) = nullptr;
  /// Returns pick_rows() of contiguous int64 indices with at least one element each. A number that is out of range is
  /// an error that the host raises later; its position is -1, as is that of an index that is `ignored`.
  Tensor (*pick_positions)(std::span<const Tensor> indices, DimsView sizes, DimsView axes, bool from_end,
                           std::optional<std::int64_t> ignored, const char* op) = nullptr;
  /// Has the host raise an error later, unless all elements of the contiguous bool tensor are true.
  void (*refuse_unless)(const Tensor& mask, RaiseLate raise, const char* op) = nullptr;
  /// Returns the positions of the elements that an index along an axis picks: the sum over all axes of an element's
  /// place along it (the index's number, along its own axis) times the stride; contiguous, with one axis. The index has
  /// at least one element, any strides, and at most StridedLoop::kMaxAxes axes.
  Tensor (*along_positions)(const Tensor& index, std::size_t axis, const Dims& strides) = nullptr;
  /// Combines elements of a contiguous vector with values: x[places[i]] = action(x[places[i]], values[i]), in the order
  /// of i; for actions that write.
  void (*combine_elements)(PickAction action, const Tensor& x, const Tensor& places, const Tensor& values) = nullptr;
  /// Writes the elements of x at `positions` along an axis to `out`; all are contiguous.
  void (*pick_along)(const Tensor& x, const Tensor& positions, std::int64_t axis, const Tensor& out) = nullptr;
  /// Returns zeros of `shape` with x's elements added at `positions` along an axis; both are contiguous and not empty.
  Tensor (*place_along)(const Tensor& x, const Tensor& positions, std::int64_t axis, const Dims& shape) = nullptr;
  /// Writes a scan of the contiguous x along an axis to `out`, and those of positions the elements there to `extremes`
  /// if it is defined.
  void (*scan)(cpu::Scan scan, const Tensor& x, std::int64_t axis, bool reverse, const Tensor& out,
               const Tensor& extremes, const char* op) = nullptr;
  /// Writes the linear recurrence of contiguous factors and addends along an axis to `out`.
  void (*recurrence)(const Tensor& factors, const Tensor& addends, std::int64_t axis, bool reverse, const Tensor& out,
                     const char* op) = nullptr;
  /// Writes a special function of x to y; both are float32 or float64, of the same strides, and without gaps.
  void (*special)(cpu::Special function, const Tensor& x, const Tensor& y, const char* op) = nullptr;
  /// Writes a function of a and x to y. All are float32 or all float64; x and y are contiguous, and so is a, whose
  /// elements are `step` apart: 1, or 0 for a single one.
  void (*special_pair)(special::PairFunction function, const Tensor& a, std::int64_t step, const Tensor& x,
                       const Tensor& y, const char* op) = nullptr;
  /// Writes polynomials in x of the given degrees to y, with operands as for special_pair.
  void (*polynomial)(const special::Polynomial& polynomial, const Tensor& degree, std::int64_t step, const Tensor& x,
                     const Tensor& y, const char* op) = nullptr;
  /// Writes the positions of the elements of each row of the contiguous x in order; equal ones stay in order. Rows are
  /// along the last axis here and below; a 0-d tensor is a row of one.
  void (*sort_positions)(const Tensor& x, bool descending, const Tensor& positions, const char* op) = nullptr;
  /// Writes the positions of the k largest or smallest of each row, in order if `sorted`; of equal ones the first.
  void (*top_positions)(const Tensor& x, std::int64_t k, bool largest, bool sorted, const Tensor& positions,
                        const char* op) = nullptr;
  /// Writes the position of one element of each row.
  void (*nth_positions)(const Tensor& x, cpu::Rank rank, std::int64_t k, const Tensor& positions,
                        const char* op) = nullptr;
  /// Writes the position of the first of the most frequent elements of each row.
  void (*mode_positions)(const Tensor& x, const Tensor& positions, const char* op) = nullptr;
  /// Writes for each of `values` the position at which it belongs in the row of `sorted` that its own row has, or in
  /// the only row: behind elements that are equal if `right`. All are contiguous, both operands of one dtype.
  void (*search_sorted)(const Tensor& sorted, const Tensor& values, bool right, const Tensor& positions,
                        const char* op) = nullptr;
  /// Writes mantissas and exponents of the contiguous x and, if there are four parts, the factors of frexp's gradient.
  void (*frexp)(const Tensor& x, std::span<const Tensor> parts) = nullptr;
  /// Writes the greatest common divisors, or the least common multiples, of contiguous integers of one dtype.
  void (*divisors)(const Tensor& a, const Tensor& b, const Tensor& out, bool multiple, const char* op) = nullptr;
  /// Fills the contiguous `out` with random numbers.
  void (*random)(const random::Fill& fill, const Tensor& out) = nullptr;
  /// Fills the contiguous `out`, float32 or float64, with numbers of a sampler. An element has a key and, where the
  /// sampler takes them, a normal number of out's dtype and a uniform one in float32. The parameters are float64: one
  /// for all elements, which may be in host memory, or one for each.
  void (*sample)(random::Sampler sampler, const Tensor& keys, const Tensor& normals, const Tensor& uniforms,
                 std::span<const Tensor> parameters, const Tensor& out, const char* op) = nullptr;
  /// Fills the contiguous `out` with numbers a step apart.
  void (*range)(const Range& range, const Tensor& out) = nullptr;
  /// True if `attention` takes rows of such a dtype and such sizes.
  bool (*takes_attention)(const Tensor& query, const Tensor& value) = nullptr;
  /// Computes attention_forward() and attention_backward().
  AttentionResult (*attention)(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                               const AttentionSettings& settings) = nullptr;
  AttentionGradients (*attention_gradient)(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const Tensor& mask, const AttentionResult& result, const Tensor& dout,
                                           const AttentionSettings& settings) = nullptr;
  /// Normalizes the rows of the contiguous x, or its groups of fewer than 2^31 elements, with weight and bias undefined
  /// or contiguous, of a row's length or one number for each channel; fills `measures` with what the gradient needs.
  Tensor (*normalize_rows)(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
                           NormMeasures& measures) = nullptr;
  /// Returns the gradients of normalize_rows; those of weight and bias where they are wanted.
  NormGrads (*normalize_rows_gradient)(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                       const NormMeasures& measures, const NormSetting& setting, bool want_weight,
                                       bool want_bias) = nullptr;
  /// Normalizes each channel of the contiguous x [n, channels, 1, size], fewer than 2^31 elements of a channel, with
  /// weight and bias undefined or contiguous, one number for each channel; fills `measures`, and `statistics` unless
  /// null.
  Tensor (*normalize_batch)(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormSetting& setting,
                            NormMeasures& measures, BatchStatistics* statistics) = nullptr;
  /// Returns the gradients of normalize_batch; those of weight and bias, in `shape`, where they are wanted.
  NormGrads (*normalize_batch_gradient)(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                        const NormMeasures& measures, const NormSetting& setting, const Dims& shape,
                                        bool want_weight, bool want_bias) = nullptr;
  /// Writes the state after a step of a recurrent layer, and the memory of a cell that has one.
  void (*recurrent_step)(const CellOperands& step, const Tensor& next_h, const Tensor& next_c) = nullptr;
  /// Writes the gradients of a step, from those of what it gives.
  void (*recurrent_step_gradient)(const CellOperands& step, const CellArrows& arrows) = nullptr;
  /// Writes the p-norms of the differences between the rows of x, [batches, n, size], and of y, [batches, m, size], to
  /// out, [batches, n, m]. All are contiguous, and float32 or float64.
  void (*row_distances)(const Tensor& x, const Tensor& y, double p, const Tensor& out, const char* op) = nullptr;
  /// Writes for each row of x the weighted sum of its differences from the rows of y, or of their signs, to out. The
  /// weights are [batches, n, m], or [batches, m, n] if `across`; otherwise as row_distances.
  void (*weighted_differences)(const Tensor& x, const Tensor& y, const Tensor& weights, bool across, bool signs,
                               const Tensor& out, const char* op) = nullptr;
  /// Copies the elements of windows of images into columns.
  void (*unfold)(const ImageWindows& windows, const ColumnSteps& steps, const Tensor& images, const Tensor& columns,
                 const char* op) = nullptr;
  /// Sums the elements of columns into images: the transpose of unfold. The columns have the images' dtype, or float32
  /// where that has 16 bits; integers are uint64.
  void (*fold)(const ImageWindows& windows, const ColumnSteps& steps, const Tensor& columns, const Tensor& images,
               const char* op) = nullptr;
  /// Computes one of the contiguous tensors of a convolution from the two others, for floating dtypes and uint64.
  /// `bias` may be undefined; it is added to y.
  void (*convolve)(const detail::ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                   const Tensor& bias, const char* op) = nullptr;
  /// Runs a kernel of pooling on contiguous planes; `places`, of `to` or of `from`, may be undefined.
  void (*pool)(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places) = nullptr;
  /// Resamples an axis of the contiguous x, of float32 or float64, into y, or applies the transpose.
  void (*resample)(const ResampleRule& rule, const Tensor& x, const Tensor& y, std::size_t axis,
                   bool transposed) = nullptr;
  /// Samples images, or volumes, x at the places of a grid; all are contiguous, of one dtype, and not empty.
  void (*grid_sample)(const cpu::GridSetting& setting, const Tensor& x, const Tensor& grid, const Tensor& y) = nullptr;
  /// Writes the gradients of grid_sample, of which either may be undefined.
  void (*grid_sample_gradient)(const cpu::GridSetting& setting, const Tensor& x, const Tensor& grid, const Tensor& dy,
                               const Tensor& dx, const Tensor& dgrid) = nullptr;
  /// Writes the losses of sequences, which are above cpu::kCtcImpossible for a target that is not reached, and returns
  /// what the gradient needs if `keep`. A label that is no class is an error that the host raises later.
  Tensor (*ctc)(const CtcSequences& sequences, const Tensor& losses, bool keep) = nullptr;
  /// Returns the gradient of the log-probabilities from the contiguous gradient of the losses, and from what ctc gave.
  Tensor (*ctc_gradient)(const CtcSequences& sequences, const Tensor& kept, const Tensor& losses,
                         const Tensor& dy) = nullptr;
  /// Transforms the lines of the contiguous `from` along an axis into those of `to`, both float32 or both float64, real
  /// or complex; a complex transform may be in place.
  void (*fft)(const FftCall& call, const Tensor& from, const Tensor& to, const char* op) = nullptr;
  /// Overwrites the contiguous Hermitian matrices a, whose lower triangles are read, with their Cholesky factors.
  /// `info` (int32, one per matrix) receives the order of the first leading part that is not positive definite, or 0.
  void (*cholesky)(const Tensor& a, const Tensor& info, const char* op) = nullptr;
  /// Overwrites the contiguous matrices a with their triangular factors, and `pivots` (int32) with the exchanges of
  /// rows from 1 on, as LAPACK's getrf does.
  void (*lu)(const Tensor& a, const Tensor& pivots, const char* op) = nullptr;
  /// Writes the rows (int64) that the exchanges of getrf amount to; the tensors are contiguous. An exchange with a row
  /// that does not exist gives -1.
  void (*permutation)(const Tensor& pivots, const Tensor& permutation, const char* op) = nullptr;
  /// Overwrites b with the solutions y of a @ y == b (a.mH @ y == b), reading one triangle of a. Both are contiguous,
  /// with the same leading axes.
  void (*solve_triangle)(const Tensor& a, const Tensor& b, const linalg::Triangle& triangle, const char* op) = nullptr;
  /// Overwrites the contiguous matrices a with r and, below its diagonal, the vectors of reflections, whose factors are
  /// `tau`, as LAPACK's geqrf does.
  void (*reflections)(const Tensor& a, const Tensor& tau, const char* op) = nullptr;
  /// Overwrites c with q c, or q^H c, where q is the square product of the reflections in a and tau. All are
  /// contiguous, with the same leading axes.
  void (*reflect)(const Tensor& a, const Tensor& tau, const Tensor& c, bool adjoint, const char* op) = nullptr;
  /// Rotates the rows of the contiguous matrices `rows` against each other until they are orthogonal, and the rows of
  /// `vectors`, which may be undefined, with them. `info` (int32, one per matrix) receives 1 if they do not become so.
  void (*orthogonalize)(const Tensor& rows, const Tensor& vectors, const Tensor& info, const char* op) = nullptr;
  /// Performs an optimizer's step on targets of one dtype, float32 or float64, whose tensors are contiguous.
  void (*optimizer_step)(std::size_t formula, std::span<const optim::Target* const> targets,
                         std::span<const double> numbers, const optim::Shared<double>& shared) = nullptr;
};

namespace detail {
extern DeviceKernels device_kernel_tables[kDeviceTypeCount];
}

/// Registers the kernel of a device type. Called by static initializers when the library loads; returns true so that it
/// can initialize a constant.
template <auto kMember, class Kernel>
bool register_kernel(DeviceType type, Kernel kernel) {
  detail::device_kernel_tables[static_cast<std::size_t>(type)].*kMember = kernel;
  return true;
}

/// True if a device has a kernel.
template <auto kMember>
bool has_device_kernel(Device device) {
  return detail::device_kernel_tables[static_cast<std::size_t>(device.type)].*kMember != nullptr;
}

/// Returns a kernel of a device; throws NotImplementedError that names the operator and the device if it is missing.
template <auto kMember>
auto device_kernel(Device device, std::string_view op) {
  const auto kernel = detail::device_kernel_tables[static_cast<std::size_t>(device.type)].*kMember;
  if (!kernel) no_kernel(op, device);
  return kernel;
}

}  // namespace lamella
