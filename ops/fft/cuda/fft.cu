#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/fft/cuda/butterflies.h"
#include "ops/fft/cuda/plan.h"
#include "ops/fft/cuda/tables.h"
#include "ops/fft/device_call.h"
#include "ops/fft/lengths.h"
#include "ops/support/device_kernels.h"
#include "ops/support/outer_inner.h"

// A block transforms a few lines in shared memory, pass by pass (Stockham's form, which leaves the numbers in order;
// Cochran et al., What is the fast Fourier transform, 1967). Lengths that do not fit there are cut into up to four
// levels (Bailey, FFTs in external or hierarchical memory, 1990), and those with large prime factors are convolutions
// with exp(pi i j^2 / n) (Bluestein, A linear filtering approach to the computation of discrete Fourier transform,
// 1970). All is a forward transform: the other direction is that of the conjugates, conjugated.

namespace lamella::cuda {
namespace {

using cpu::FftKind;

constexpr int kThreads = 256;
constexpr std::int64_t kMostLines = 128;     // of a block
constexpr std::int64_t kEnoughBlocks = 256;  // below so many, blocks take fewer lines
/// Numbers that a block holds, twice, in 32 KiB.
template <class T>
constexpr std::int64_t kNumbers = 16384 / sizeof(Parts<T>);

/// Where the first level reads: numbers at positions from `given` on are 0, and the others are conjugated, if asked,
/// and multiplied by `factors`, if there are any.
template <class T>
struct Source {
  const T* data;
  std::int64_t size;  ///< positions in memory, along the axis
  std::int64_t given;
  bool real = false;
  /// The second half is the conjugate of the first, and counts `shared` times.
  bool hermitian = false;
  T shared = 1;
  bool conjugate = false;
  const Parts<T>* factors = nullptr;
};

/// Where the last level writes: positions from `size` on are left out, the others are conjugated, if asked, multiplied
/// by `factors`, conjugated, and multiplied by `scale`.
template <class T>
struct Target {
  T* data;
  std::int64_t size;
  bool real = false;
  /// Coefficients that stand for their conjugates as well are multiplied by `shared`.
  T shared = 1;
  bool conjugate_before = false;
  const Parts<T>* factors = nullptr;
  bool conjugate_after = false;
  T scale = 1;
};

/// A level: transforms of `factor` numbers, `after` positions apart, for each of `before` groups of positions.
template <class T>
struct LevelArgs {
  Source<T> source;
  Target<T> target;
  std::int64_t real_length;  ///< of the transform between real and complex numbers
  std::int64_t inner;
  std::int64_t lines;
  std::int64_t before;
  std::int64_t after;
  /// Factors of the levels before the last one, which puts their digits in reverse.
  std::int64_t digits[kMostFftLevels];
  std::int32_t digit_count;
  std::int32_t factor;
  std::int32_t lines_per_block;
  std::int32_t radices[kMostFftPasses];
  std::int32_t passes;
  const Parts<T>* roots;  ///< exp(-2 pi i k / factor)
  SplitTurns<T> turns;    ///< of the whole length; null behind the last level
};

/// Where a line reads and writes.
struct LinePlace {
  std::int64_t from;  // of position 0, in elements
  std::int64_t to;
  std::int64_t from_position;  // of number 0
  std::int64_t to_position;
  std::int64_t turn;
};

template <class T>
__device__ LinePlace place_of(const LevelArgs<T>& args, std::int64_t line) {
  const std::int64_t column = line % args.inner;
  const std::int64_t rest = line / args.inner;
  const std::int64_t groups = args.before * args.after;
  const std::int64_t outer = rest / groups;
  LinePlace place{outer * args.source.size * args.inner + column, outer * args.target.size * args.inner + column, 0, 0,
                  0};
  if (args.after > 1) {
    const std::int64_t later = rest % args.after;
    place.from_position = place.to_position = rest % groups / args.after * args.factor * args.after + later;
    place.turn = later * args.before;
    return place;
  }
  std::int64_t digits = rest % groups;
  place.to_position = digits;
  std::int64_t reversed = 0;
  for (std::int32_t i = 0; i < args.digit_count; ++i) {
    reversed = reversed * args.digits[i] + digits % args.digits[i];
    digits /= args.digits[i];
  }
  place.from_position = reversed * args.factor;
  return place;
}

template <class T>
__device__ Parts<T> read(const LevelArgs<T>& args, std::int64_t begin, std::int64_t position) {
  const Source<T>& source = args.source;
  if (position >= source.given) return {0, 0};
  Parts<T> x;
  if (source.real) {
    x = {source.data[begin + position * args.inner], 0};
  } else if (source.hermitian) {
    const bool mirrored = position >= source.size;
    const std::int64_t at = mirrored ? args.real_length - position : position;
    x = reinterpret_cast<const Parts<T>*>(source.data)[begin + at * args.inner];
    if (mirrored) x.imaginary = -x.imaginary;
    if (position == 0 || 2 * position == args.real_length) {
      x.imaginary = 0;
    } else {
      x = scaled(x, source.shared);
    }
  } else {
    x = reinterpret_cast<const Parts<T>*>(source.data)[begin + position * args.inner];
  }
  if (source.conjugate) x = conjugated(x);
  return source.factors ? x * source.factors[position] : x;
}

template <class T>
__device__ void write(const LevelArgs<T>& args, Parts<T> x, std::int64_t begin, std::int64_t position) {
  const Target<T>& target = args.target;
  if (position >= target.size) return;
  if (target.conjugate_before) x = conjugated(x);
  if (target.factors) x = x * target.factors[position];
  if (target.conjugate_after) x = conjugated(x);
  const bool is_shared = position > 0 && 2 * position < args.real_length;
  x = scaled(x, is_shared ? target.scale * target.shared : target.scale);
  if (target.real) {
    target.data[begin + position * args.inner] = x.real;
  } else {
    reinterpret_cast<Parts<T>*>(target.data)[begin + position * args.inner] = x;
  }
}

/// One pass over the lines of a block: transforms of kRadix numbers, `product` being that of the radices before.
template <int kRadix, class T>
__device__ void pass(const LevelArgs<T>& args, std::int32_t lines, std::int32_t product, const Parts<T>* from,
                     Parts<T>* to) {
  const std::int32_t apart = args.factor / kRadix;
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < lines * apart; i += kThreads) {
    const std::int32_t begin = i / apart * args.factor;
    const std::int32_t at = i % apart;
    const std::int32_t group = at / product;
    Parts<T> x[kRadix];
#pragma unroll
    for (int k = 0; k < kRadix; ++k) x[k] = from[begin + at + k * apart];
    transform_few(x, args.roots, apart);
    Parts<T>* const line = to + begin + at % product + group * product * kRadix;
    line[0] = x[0];
#pragma unroll
    for (int k = 1; k < kRadix; ++k) line[k * product] = x[k] * args.roots[group * k * product];
  }
}

template <class T>
__device__ void pass_of(std::int32_t radix, const LevelArgs<T>& args, std::int32_t lines, std::int32_t product,
                        const Parts<T>* from, Parts<T>* to) {
  switch (radix) {
    case 2:
      return pass<2>(args, lines, product, from, to);
    case 3:
      return pass<3>(args, lines, product, from, to);
    case 4:
      return pass<4>(args, lines, product, from, to);
    case 5:
      return pass<5>(args, lines, product, from, to);
    case 7:
      return pass<7>(args, lines, product, from, to);
    case 8:
      return pass<8>(args, lines, product, from, to);
    case 11:
      return pass<11>(args, lines, product, from, to);
    default:
      return pass<13>(args, lines, product, from, to);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) level_kernel(const __grid_constant__ LevelArgs<T> args) {
  __shared__ Parts<T> buffers[2][kNumbers<T>];
  __shared__ LinePlace places[kMostLines];
  const std::int64_t first = std::int64_t{blockIdx.x} * args.lines_per_block;
  const auto lines = static_cast<std::int32_t>(min(args.lines - first, std::int64_t{args.lines_per_block}));
  const std::int32_t count = lines * args.factor;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread < lines) places[thread] = place_of(args, first + thread);
  __syncthreads();

  // Neighboring threads take neighbors in memory: of one line, or of neighboring lines.
  const bool reads_along = args.inner == 1 && args.after == 1;
  for (std::int32_t i = thread; i < count; i += kThreads) {
    const std::int32_t line = reads_along ? i / args.factor : i % lines;
    const std::int32_t k = reads_along ? i % args.factor : i / lines;
    const LinePlace& place = places[line];
    buffers[0][line * args.factor + k] = read(args, place.from, place.from_position + k * args.after);
  }
  std::int32_t product = 1;
  int now = 0;
  for (std::int32_t i = 0; i < args.passes; ++i, now = 1 - now) {
    __syncthreads();
    pass_of(args.radices[i], args, lines, product, buffers[now], buffers[1 - now]);
    product *= args.radices[i];
  }
  __syncthreads();
  const bool writes_along = reads_along && args.before == 1;
  const std::int64_t step = args.after > 1 ? args.after : args.before;
  for (std::int32_t i = thread; i < count; i += kThreads) {
    const std::int32_t line = writes_along ? i / args.factor : i % lines;
    const std::int32_t k = writes_along ? i % args.factor : i / lines;
    const LinePlace& place = places[line];
    Parts<T> x = buffers[now][line * args.factor + k];
    if (args.after > 1) x = x * turn_at(args.turns, place.turn * k);
    write(args, x, place.to, place.to_position + k * step);
  }
}

/// Transforms lines of a length with small prime factors.
template <class T>
void transform(const Source<T>& source, const Target<T>& target, std::int64_t length, std::int64_t real_length,
               const Along& along, FftTables<T>& tables, const char* op) {
  const cudaStream_t stream = current_stream(tables.device());
  const FftFactors levels = fft_levels(length, kNumbers<T>);
  Tensor work;
  T* between = nullptr;
  if (levels.size() > 1) {
    work = empty({2 * along.outer * along.inner * length}, dtype_of<T>, tables.device());
    between = work.data<T>();
  }
  LevelArgs<T> args{};
  args.real_length = real_length;
  args.inner = along.inner;
  args.before = 1;
  args.after = length;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const bool is_last = i + 1 == levels.size();
    args.source = i == 0 ? source : Source<T>{.data = between, .size = length, .given = length};
    args.target = is_last ? target : Target<T>{.data = between, .size = length};
    args.factor = static_cast<std::int32_t>(levels[i]);
    args.after /= levels[i];
    args.lines = along.outer * along.inner * args.before * args.after;
    const std::int64_t shared = (args.lines + kEnoughBlocks - 1) / kEnoughBlocks;
    const std::int64_t busy = (2 * kThreads + levels[i] - 1) / levels[i];
    args.lines_per_block =
        static_cast<std::int32_t>(std::min({kNumbers<T> / levels[i], kMostLines, args.lines, std::max(shared, busy)}));
    const FftFactors radices = fft_radices(levels[i]);
    args.passes = static_cast<std::int32_t>(radices.size());
    for (std::size_t k = 0; k < radices.size(); ++k) args.radices[k] = static_cast<std::int32_t>(radices[k]);
    args.roots = tables.roots(levels[i]);
    args.turns = is_last ? SplitTurns<T>{} : tables.split(length);
    const std::int64_t blocks = (args.lines + args.lines_per_block - 1) / args.lines_per_block;
    launch(op, level_kernel<T>, static_cast<unsigned>(blocks), kThreads, 0, stream, args);
    args.digits[args.digit_count++] = levels[i];
    args.before *= levels[i];
  }
}

/// Transforms lines as a convolution of a length with small prime factors.
template <class T>
void convolve(Source<T> source, Target<T> target, std::int64_t length, const Along& along, FftTables<T>& tables,
              const char* op) {
  const std::int64_t size = fft::smooth_length(2 * length - 1);
  const auto [chirp, spectrum] = tables.convolution(length, size, [&](T* from, T* to) {
    const Target<T> kernel{.data = to, .size = size, .scale = static_cast<T>(1.0 / static_cast<double>(size))};
    transform<T>({.data = from, .size = size, .given = size}, kernel, size, size, Along(Dims{size}, 0), tables, op);
  });
  const Tensor work = empty({2 * along.outer * along.inner * size}, dtype_of<T>, tables.device());
  source.factors = chirp;
  const Target<T> middle{.data = work.data<T>(), .size = size, .factors = spectrum, .conjugate_after = true};
  transform<T>(source, middle, size, length, along, tables, op);
  target.conjugate_before = true;
  target.factors = chirp;
  transform<T>({.data = work.data<T>(), .size = size, .given = size}, target, size, length, along, tables, op);
}

template <class T>
void run(const FftCall& call, const Tensor& from, const Tensor& to, const char* op) {
  const bool makes_real = call.kind == FftKind::ComplexToReal;
  const bool takes_real = call.kind == FftKind::RealToComplex;
  const std::int64_t half = call.length / 2 + 1;
  const Along along(to.shape(), static_cast<std::int64_t>(call.axis));
  const Source<T> source{.data = static_cast<const T*>(from.raw_data()),
                         .size = makes_real ? half : call.length,
                         .given = call.length,
                         .real = takes_real,
                         .hermitian = makes_real,
                         .shared = call.doubled ? T(1) : T(0.5),
                         .conjugate = !call.forward};
  const Target<T> target{.data = static_cast<T*>(to.raw_data()),
                         .size = takes_real ? half : call.length,
                         .real = makes_real,
                         .shared = takes_real && call.doubled ? T(2) : T(1),
                         .conjugate_after = !call.forward,
                         .scale = static_cast<T>(call.scale)};
  FftTables<T> tables(to.device(), op);
  if (fft::largest_prime(call.length) > kLargestFftPrime) {
    convolve(source, target, call.length, along, tables, op);
  } else {
    transform(source, target, call.length, call.length, along, tables, op);
  }
}

void fft(const FftCall& call, const Tensor& from, const Tensor& to, const char* op) {
  const DeviceGuard guard(to.device());
  const bool single = to.dtype() == DType::Float32 || to.dtype() == DType::Complex64;
  single ? run<float>(call, from, to, op) : run<double>(call, from, to, op);
}

[[maybe_unused]] const bool kFftRegistered = register_kernel<&DeviceKernels::fft>(DeviceType::CUDA, fft);

}  // namespace
}  // namespace lamella::cuda
