#include "ops/fft/plan.h"

#include <cmath>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ops/fft/lengths.h"
#include "ops/fft/turn.h"

namespace lamella::fft {
namespace {

using cpu::kLargestRadix;
/// Rader's convolution is used if the prime factors of its length are at most this large; Bluestein's, of at least
/// twice as many numbers, has only small ones.
constexpr std::int64_t kLargestOfPowers = 17;

/// Returns the radices of the passes: 8 for powers of two, with the rest as 16, 4 or 2; 9, 3, and other primes.
std::vector<std::int64_t> factors(std::int64_t n) {
  std::vector<std::int64_t> result;
  const auto divide = [&](std::int64_t factor) {
    for (; n % factor == 0; n /= factor) result.push_back(factor);
  };
  for (; n % 8 == 0 && (n % 16 != 0 || n % 32 == 0); n /= 8) result.push_back(8);
  divide(16);
  divide(4);
  divide(2);
  divide(9);
  for (std::int64_t factor = 3; factor * factor <= n; factor += 2) divide(factor);
  if (n > 1) result.push_back(n);
  return result;
}

template <class T>
using Table = std::vector<T>;

/// Returns the real and the imaginary parts of exp(-2 pi i index(j) / n) for j in [0, count).
template <class T, class Index>
std::pair<Table<T>, Table<T>> root_tables(std::int64_t count, std::int64_t n, Index&& index) {
  Table<T> re(static_cast<std::size_t>(count));
  Table<T> im(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) {
    const auto [cosine, sine] = turn(index(j), n);
    re[static_cast<std::size_t>(j)] = static_cast<T>(cosine);
    im[static_cast<std::size_t>(j)] = static_cast<T>(-sine);
  }
  return {std::move(re), std::move(im)};
}

/// A plan with everything that it points to.
template <class T>
struct Owner {
  cpu::FftPlan<T> plan;
  std::vector<cpu::FftPass<T>> passes;
  std::vector<Table<T>> tables;
  std::vector<std::int32_t> powers;
  std::shared_ptr<const cpu::FftPlan<T>> inner;
  std::shared_ptr<const cpu::FftPlan<T>> columns;

  /// Adds tables of exp(-2 pi i index(j) / n) for j in [0, count) and returns pointers to them.
  template <class Index>
  std::pair<const T*, const T*> roots(std::int64_t count, std::int64_t n, Index&& index) {
    auto [re, im] = root_tables<T>(count, n, index);
    tables.push_back(std::move(re));
    tables.push_back(std::move(im));
    return {tables[tables.size() - 2].data(), tables.back().data()};
  }

  explicit Owner(std::int64_t length) {
    plan.length = length;
    std::tie(plan.half_re, plan.half_im) = roots(length + 1, 2 * length, [](std::int64_t k) { return k; });
    if (largest_prime(length) > kLargestRadix) {
      if (!make_convolution_by_powers()) make_convolution();
      return;
    }
    std::int64_t rest = length;
    for (const std::int64_t radix : factors(length)) {
      const std::int64_t whole = rest;
      rest /= radix;
      cpu::FftPass<T> pass{.radix = radix, .rest = rest};
      std::tie(pass.twiddle_re, pass.twiddle_im) =
          roots((radix - 1) * rest, whole, [rest](std::int64_t i) { return (i / rest + 1) * (i % rest); });
      if (radix % 2 != 0 && radix > 9) {
        const std::int64_t half = radix / 2;
        // In reverse, so that the sines are positive.
        std::tie(pass.root_re, pass.root_im) =
            roots(half * half, radix, [=](std::int64_t i) { return radix - (i / half + 1) * (i % half + 1) % radix; });
      }
      passes.push_back(pass);
    }
    plan.passes = passes.data();
    plan.pass_count = static_cast<std::int64_t>(passes.size());
    make_columns();
  }

 private:
  /// Prepares the two-part form, for lines transformed one by one.
  void make_columns() {
    constexpr std::int64_t kNarrowest = 4;  // adjacent columns of a line in memory
    const std::int64_t lanes = kernels<T>().width;
    for (std::int64_t width = lanes; width == lanes || (4 * width >= lanes && width >= kNarrowest); width /= 2) {
      if (plan.length % width != 0) continue;
      const std::int64_t size = plan.length / width;
      // With two lines in a vector only squares are short lines; otherwise short lines are as many as fill a tile.
      const bool is_square = 4 * plan.length == lanes * lanes && lanes >= 8;
      const bool is_short =
          is_square ? 2 * width == lanes : width == lanes && size < lanes && (size == 2 || size == 4 || size == 8);
      // The second part processes a vector's worth of the first part's results at a time; the last vector repeats some,
      // at most an eighth.
      const bool is_long = size >= lanes && 8 * ((size + lanes - 1) / lanes * lanes) <= 9 * size;
      if (!is_short && !is_long) continue;
      if (is_long) {
        columns = plan_of<T>(size);
        plan.columns = columns.get();
      }
      plan.width = width;
      std::tie(plan.turn_re, plan.turn_im) =
          roots(size * lanes, plan.length, [=](std::int64_t i) { return i / lanes * (i % width); });
      return;
    }
  }

  void make_convolution() {
    const std::int64_t n = plan.length;
    inner = plan_of<T>(smooth_length(2 * n - 1));
    plan.inner = inner.get();
    // The index grows by 2 j + 1 from square to square, modulo 2 n, because the squares themselves may overflow.
    std::int64_t square = 0;
    std::tie(plan.chirp_re, plan.chirp_im) = roots(n, 2 * n, [&](std::int64_t j) {
      const std::int64_t result = square;
      square = (square + 2 * j + 1) % (2 * n);
      return result;
    });
    const std::int64_t size = inner->length;
    std::vector<T> values(static_cast<std::size_t>(2 * size), T(0));
    for (std::int64_t j = 0; j < n; ++j) {
      for (const std::int64_t at : {j, (size - j) % size}) {
        values[static_cast<std::size_t>(2 * at)] = plan.chirp_re[j];
        values[static_cast<std::size_t>(2 * at + 1)] = -plan.chirp_im[j];
      }
    }
    make_spectrum(values);
  }

  /// Prepares Rader's convolution if its length has small factors; returns false otherwise.
  bool make_convolution_by_powers() {
    const std::int64_t p = plan.length;
    if (largest_prime(p) < p || largest_prime(p - 1) > kLargestOfPowers) return false;
    inner = plan_of<T>(p - 1);
    plan.inner = inner.get();
    powers.resize(static_cast<std::size_t>(p - 1));
    for (std::int64_t g = 2; !make_powers(g); ++g) continue;
    plan.order = powers.data();
    std::vector<T> values;
    for (std::int64_t q = 0; q < p - 1; ++q) {
      const auto [cosine, sine] = turn(powers[static_cast<std::size_t>((p - 1 - q) % (p - 1))], p);
      values.push_back(static_cast<T>(cosine));
      values.push_back(static_cast<T>(-sine));
    }
    make_spectrum(values);
    return true;
  }
  /// True if the powers of g are all numbers in [1, p).
  bool make_powers(std::int64_t g) {
    std::int64_t power = 1;
    for (std::size_t q = 0; q < powers.size(); ++q) {
      if (q > 0 && power == 1) return false;
      powers[q] = static_cast<std::int32_t>(power);
      power = power * g % plan.length;
    }
    return true;
  }

  /// Stores the transform of `values`, divided by their number.
  void make_spectrum(const std::vector<T>& values) {
    const std::int64_t size = inner->length;
    std::vector<T> spectrum(values.size());
    const cpu::FftLines<T> lines{.plan = inner.get(),
                                 .length = size,
                                 .from = values.data(),
                                 .to = spectrum.data(),
                                 .end = 1,
                                 .count = 1,
                                 .scale = static_cast<T>(1.0 / static_cast<double>(size))};
    kernels<T>().lines(lines);
    Table<T> re(static_cast<std::size_t>(size));
    Table<T> im(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < re.size(); ++i) {
      re[i] = spectrum[2 * i];
      im[i] = spectrum[2 * i + 1];
    }
    tables.push_back(std::move(re));
    tables.push_back(std::move(im));
    plan.spectrum_re = tables[tables.size() - 2].data();
    plan.spectrum_im = tables.back().data();
  }
};

/// A cache of plans by length; all are dropped when their total length exceeds the capacity.
template <class Plan>
class Cache {
 public:
  template <class Make>
  std::shared_ptr<const Plan> get(std::int64_t length, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = plans_.find(length);
      if (found != plans_.end()) return found->second;
    }
    // Made without the lock, because making a plan may look up another one.
    const std::shared_ptr<const Plan> plan = make(length);
    const std::lock_guard lock(mutex_);
    held_ += length;
    if (held_ > kCapacity) {
      plans_.clear();
      held_ = length;
    }
    return plans_.try_emplace(length, plan).first->second;
  }

 private:
  static constexpr std::int64_t kCapacity = std::int64_t{1} << 22;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const Plan>> plans_;
  std::int64_t held_ = 0;
};

/// Transforms of one line below this length stay in the L2 cache.
constexpr std::int64_t kLong = 1 << 15;
/// Largest length of a part for which a group of interleaved lines fits into the cache.
constexpr std::int64_t kLongestPart = 4095;

template <class T>
struct LongOwner {
  LongPlan<T> plan;
  std::pair<Table<T>, Table<T>> fine;
  std::pair<Table<T>, Table<T>> coarse;

  LongOwner(std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t kLanes = cpu::kFftLanes<T>;
    const std::int64_t length = rows * columns;
    fine = root_tables<T>(rows * kLanes, length, [](std::int64_t i) { return i / kLanes * (i % kLanes); });
    coarse = root_tables<T>(length / kLanes, length / kLanes, [](std::int64_t i) { return i; });
    plan = {.rows = rows,
            .columns = columns,
            .of_columns = plan_of<T>(rows),
            .of_rows = plan_of<T>(columns),
            .turns = {.fine_re = fine.first.data(),
                      .fine_im = fine.second.data(),
                      .coarse_re = coarse.first.data(),
                      .coarse_im = coarse.second.data()}};
  }
};

/// Returns the first of the two parts of a long transform, whose lengths are as close as possible: multiples of the
/// number of interleaved lines, with small prime factors. 0 if there are none.
std::int64_t first_part(std::int64_t length, std::int64_t lanes) {
  for (auto part = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length))) / lanes * lanes; part > 0;
       part -= lanes) {
    const std::int64_t other = length / part;
    if (other > kLongestPart) return 0;
    if (length % part == 0 && other % lanes == 0) {
      return largest_prime(length) <= 5 ? part : 0;
    }
  }
  return 0;
}

}  // namespace

template <class T>
std::shared_ptr<const cpu::FftPlan<T>> plan_of(std::int64_t length) {
  static auto* const cache = new Cache<cpu::FftPlan<T>>;
  return cache->get(length, [](std::int64_t n) {
    const auto owner = std::make_shared<const Owner<T>>(n);
    return std::shared_ptr<const cpu::FftPlan<T>>(owner, &owner->plan);
  });
}

template <class T>
std::shared_ptr<const LongPlan<T>> long_plan_of(std::int64_t length) {
  if (length < kLong) return nullptr;
  const std::int64_t rows = first_part(length, cpu::kFftLanes<T>);
  if (rows == 0) return nullptr;
  static auto* const cache = new Cache<LongPlan<T>>;
  return cache->get(length, [rows](std::int64_t n) {
    const auto owner = std::make_shared<const LongOwner<T>>(rows, n / rows);
    return std::shared_ptr<const LongPlan<T>>(owner, &owner->plan);
  });
}

template std::shared_ptr<const cpu::FftPlan<float>> plan_of<float>(std::int64_t);
template std::shared_ptr<const cpu::FftPlan<double>> plan_of<double>(std::int64_t);
template std::shared_ptr<const LongPlan<float>> long_plan_of<float>(std::int64_t);
template std::shared_ptr<const LongPlan<double>> long_plan_of<double>(std::int64_t);

}  // namespace lamella::fft
