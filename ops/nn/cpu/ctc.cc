#include "ops/cpu/tables/ctc.h"

#include <algorithm>
#include <cmath>

#include "ops/nn/ctc_formulas.h"
#include "ops/reduce/cpu/loops.h"

// Graves et al., "Connectionist temporal classification", ICML 2006: alpha and beta are their forward and backward
// variables, as logarithms. Blanks and labels are stored separately, because a blank is reached from two states only
// and one symbol stands for all of them.

namespace lamella::cpu {
namespace {

using ctc::at_least_never;
using ctc::log_sum;

constexpr double kNever = kCtcNever;

/// The states of one step.
template <class T>
struct States {
  T* labels;
  T* blanks;
};

template <class T>
class Sequence {
 public:
  explicit Sequence(const CtcArgs<T>& args)
      : args_(args), block_(ctc_block(args.labels)), skips_(take(args.scratch, 0)), emitted_(take(args.scratch, 1)) {
    std::fill_n(skips_, block_ + 1, T(0));
    for (std::int64_t k = 1; k < args.labels; ++k)
      skips_[k] = ctc::may_follow(args.targets[k], args.targets[k - 1], args.blank);
    std::fill_n(emitted_, block_ + 1, T(kNever));
  }

  T forward() {
    emit(0);
    std::fill_n(args_.alpha, ctc_row(args_.labels), T(kNever));
    alpha(0).blanks[0] = blank_;
    if (args_.labels > 0) alpha(0).labels[0] = emitted_[0];
    for (std::int64_t t = 1; t < args_.steps; ++t) {
      emit(t);
      const States<T> before = alpha(t - 1);
      const States<T> now = alpha(t);
      now.labels[-1] = T(kNever);
      for (std::int64_t k = 0; k < block_; k += kLanes) {
        const Vec<T> blank = Vec<T>::load(before.blanks + k);
        const Vec<T> label = Vec<T>::load(before.labels + k);
        const Vec<T> last = Vec<T>::load(before.labels + k - 1);
        (log_sum(blank, last) + blank_).store(now.blanks + k);
        (log_sum(label, blank, skipping(k, last)) + Vec<T>::load(emitted_ + k)).store(now.labels + k);
      }
    }
    const States<T> end = alpha(args_.steps - 1);
    const Vec<T> last = args_.labels > 0 ? end.labels[args_.labels - 1] : T(kNever);
    return -log_sum(Vec<T>(end.blanks[args_.labels]), last)[0];
  }

  void backward(T loss, T dy, T* dx) {
    // beta: the log-probability of the rest of a sequence, by state; first from the next step, then with this step's
    // symbol.
    const States<T> beta{take(args_.scratch, 2), take(args_.scratch, 3)};
    const States<T> rest{take(args_.scratch, 4), take(args_.scratch, 5)};
    T* const shares = take(args_.scratch, 6);
    for (T* line : {beta.labels, beta.blanks, rest.labels, rest.blanks}) std::fill_n(line, block_ + 1, T(kNever));
    beta.blanks[args_.labels] = 0;
    if (args_.labels > 0) beta.labels[args_.labels - 1] = 0;
    for (std::int64_t t = args_.steps - 1; t >= 0; --t) {
      const States<T> begin = alpha(t);
      Vec<T> of_blanks(0);
      for (std::int64_t k = 0; k < block_; k += kLanes) {
        of_blanks += exp(Vec<T>::load(begin.blanks + k) + Vec<T>::load(beta.blanks + k) + loss);
        exp(Vec<T>::load(begin.labels + k) + Vec<T>::load(beta.labels + k) + loss).store(shares + k);
      }
      T* const row = dx + t * args_.stride;
      std::fill_n(row, args_.classes, T(0));
      T of_blank;
      fold_lanes<Added, 1>(of_blanks, &of_blank);
      row[args_.blank] -= dy * of_blank;
      for (std::int64_t k = 0; k < args_.labels; ++k) row[args_.targets[k]] -= dy * shares[k];
      if (t == 0) return;
      emit(t);
      for (std::int64_t k = 0; k < block_; k += kLanes) {
        (Vec<T>::load(beta.blanks + k) + blank_).store(rest.blanks + k);
        (Vec<T>::load(beta.labels + k) + Vec<T>::load(emitted_ + k)).store(rest.labels + k);
      }
      for (std::int64_t k = 0; k < block_; k += kLanes) {
        const Vec<T> label = Vec<T>::load(rest.labels + k);
        const Vec<T> next = skipping(k + 1, Vec<T>::load(rest.labels + k + 1));
        log_sum(Vec<T>::load(rest.blanks + k), label).store(beta.blanks + k);
        log_sum(label, Vec<T>::load(rest.blanks + k + 1), next).store(beta.labels + k);
      }
    }
  }

 private:
  static constexpr std::int64_t kLanes = Vec<T>::size;

  T* take(T* scratch, std::int64_t line) const { return scratch + line * (block_ + 1); }

  States<T> alpha(std::int64_t t) const {
    T* const row = args_.alpha + t % args_.rows * ctc_row(args_.labels);
    return {row + 1, row + 1 + block_};
  }

  /// Reads the log-probabilities of the symbols at step t.
  void emit(std::int64_t t) {
    const T* const row = args_.log_p + t * args_.stride;
    blank_ = at_least_never(row[args_.blank]);
    for (std::int64_t k = 0; k < args_.labels; ++k) emitted_[k] = at_least_never(row[args_.targets[k]]);
  }

  /// Returns the labels from the k-th on whose predecessor may be followed directly, kCtcNever in other lanes.
  Vec<T> skipping(std::int64_t k, Vec<T> states) const {
    return where(Vec<T>::load(skips_ + k) > Vec<T>(0), states, Vec<T>(kNever));
  }

  const CtcArgs<T>& args_;
  std::int64_t block_;
  T* skips_;
  T* emitted_;
  T blank_ = 0;
};

template <class T>
T forward(const CtcArgs<T>& args) {
  return Sequence<T>(args).forward();
}
template <class T>
void backward(const CtcArgs<T>& args, T loss, T dy, T* dx) {
  Sequence<T>(args).backward(loss, dy, dx);
}

}  // namespace

void fill_ctc(CtcTable& table) {
  table.float32 = {forward<float>, backward<float>};
  table.float64 = {forward<double>, backward<double>};
}

}  // namespace lamella::cpu
