#include "ops/transforms/diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

namespace lamella::autograd {
namespace {

double tolerance(double numerical, double atol, double rtol) { return atol + rtol * std::abs(numerical); }

bool has_nonfinite(const Matrix& m) {
  return std::ranges::any_of(m.values, [](double v) { return !std::isfinite(v); });
}

bool all_agree(const Matrix& a, const Matrix& b, double atol, double rtol) {
  return a.rows == b.rows && a.columns == b.columns && !find_wrong(a, b, atol, rtol);
}

/// Returns the matrix with the entries entry(r, c).
template <class Entry>
Matrix made_of(std::size_t rows, std::size_t columns, Entry&& entry) {
  Matrix m(rows, columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) m.at(r, c) = entry(r, c);
  }
  return m;
}

std::string number(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return std::move(out).str();
}

/// A check for a possible cause of a finding; returns an empty text if it does not apply.
using Question = std::string (*)(const Finding&);

std::string not_finite(const Finding& x) {
  if (has_nonfinite(x.differences())) {
    return "the function's own values are NaN or infinite within one step of the point: move the input away from there";
  }
  if (has_nonfinite(x.tape())) return "the analytical gradient holds NaN or infinities: backward divides by 0, say";
  return {};
}

/// Returns the derivatives from the left and from the right at the wrong entry.
std::array<double, 2> one_sided(const Finding& x, double step) {
  Components steps(x.tape().columns);
  const double here = x.f.values(x.w, steps)[x.o][x.entry.row];
  steps[x.entry.column] = step;
  const double above = x.f.values(x.w, steps)[x.o][x.entry.row];
  steps[x.entry.column] = -step;
  const double below = x.f.values(x.w, steps)[x.o][x.entry.row];
  return {(here - below) / step, (above - here) / step};
}

std::string kink(const Finding& x) {
  const GradcheckOptions& options = x.f.options();
  const auto [left, right] = one_sided(x, options.eps);
  const double gap = std::abs(right - left);
  if (!(gap > 10 * tolerance(x.differences().at(x.entry.row, x.entry.column), options.atol, options.rtol))) return {};
  // At a kink the gap stays as the step grows; a gap caused by rounding shrinks, one caused by curvature grows.
  const auto [far_left, far_right] = one_sided(x, 8 * options.eps);
  const double far_gap = std::abs(far_right - far_left);
  if (!(far_gap > 0.5 * gap && far_gap < 3 * gap)) return {};
  return str("the function has a kink near the point: the differences to the left and to the right are ", number(left),
             " and ", number(right), "; move the input away from it");
}

std::string no_gradient(const Finding& x) {
  if (x.tape().largest() != 0) return {};
  const bool missing = x.analytical.missing[x.o][x.w];
  return str("the analytical gradient is zero everywhere",
             missing ? ": none arrived at this input. Did backward return None for it, or is it used off the tape (by "
                       "numpy, detach(), or under no_grad)?"
                     : ": backward returned zeros, or multiplies by something that is zero");
}

std::string constant_function(const Finding& x) {
  if (x.differences().largest() > x.f.options().atol) return {};
  return "the output does not change with this input: is the gradient meant for another one, or does the function "
         "round, or read a copy of the input that was made before?";
}

std::string coarse_forward(const Finding& x) {
  // Rounding to the inner dtype adds an error to each value, which a larger step divides by more.
  if (x.f.options().eps >= 1e-4 || item_size(x.f.input(x.w).dtype()) < 8) return {};
  const Matrix coarse = x.f.differences(x.w, 1e-3)[x.o];
  double fine_error = 0;
  double coarse_error = 0;
  for (std::size_t k = 0; k < coarse.values.size(); ++k) {
    fine_error = std::max(fine_error, std::abs(x.tape().values[k] - x.differences().values[k]));
    coarse_error = std::max(coarse_error, std::abs(x.tape().values[k] - coarse.values[k]));
  }
  if (!(coarse_error < 0.1 * fine_error) || !all_agree(x.tape(), coarse, 1e-2 * coarse.largest(), 1e-2)) return {};
  return "the gradient is right in float32 precision only: the function computes in float32 (or less) inside, and with "
         "a "
         "step of 1e-3 the numbers agree; keep float64 throughout, or pass a larger eps and tolerances";
}

std::string constant_factor(const Finding& x) {
  double product = 0;
  double square = 0;
  std::size_t nonzero = 0;
  for (std::size_t k = 0; k < x.tape().values.size(); ++k) {
    const double n = x.differences().values[k];
    product += x.tape().values[k] * n;
    square += n * n;
    if (std::abs(n) > x.f.options().atol) ++nonzero;
  }
  const double factor = product / square;
  if (!std::isfinite(factor) || factor == 0) return {};
  const Matrix scaled = made_of(x.tape().rows, x.tape().columns,
                                [&](std::size_t r, std::size_t c) { return factor * x.differences().at(r, c); });
  const GradcheckOptions& options = x.f.options();
  if (!all_agree(x.tape(), scaled, options.atol * std::max(1.0, std::abs(factor)), options.rtol)) return {};
  const auto near = [&](double value) { return std::abs(factor - value) <= 1e-4 * std::abs(value); };
  if (near(-1)) return "the sign is flipped: the ratio is -1 everywhere";
  if (near(2)) return "backward returned twice the gradient: the ratio is 2 everywhere";
  if (near(0.5)) return "backward returned half the gradient: the ratio is 0.5 everywhere";
  const auto elements = [&](const Tensor& t) { return static_cast<double>(t.numel()); };
  for (const Tensor& t : {x.f.input(x.w), x.f.output(x.o)}) {
    if (elements(t) < 2) continue;
    if (near(elements(t)) || near(1 / elements(t))) {
      return str("off by the constant factor ", number(factor), ", where ", t.numel(),
                 " is the number of elements: a mean taken for a sum, or a sum for a mean?");
    }
  }
  // A single number is always some factor off.
  if (nonzero < 2) return {};
  return str("off by a constant factor: the ratio is ", number(factor), " everywhere");
}

std::string missing_conjugate(const Finding& x) {
  const std::size_t row_parts = components_per_element(x.f.output(x.o));
  const std::size_t column_parts = components_per_element(x.f.input(x.w));
  if (row_parts == 1 && column_parts == 1) return {};
  const Matrix conjugate = made_of(x.tape().rows, x.tape().columns, [&](std::size_t r, std::size_t c) {
    const bool flipped = (row_parts == 2 ? r % 2 : 0) != (column_parts == 2 ? c % 2 : 0);
    return flipped ? -x.differences().at(r, c) : x.differences().at(r, c);
  });
  if (!all_agree(x.tape(), conjugate, x.f.options().atol, x.f.options().rtol)) return {};
  return "it is the complex conjugate of the right one: for w = f(z), backward returns dw * conj(f'(z))";
}

std::string transposed(const Finding& x) {
  const Matrix& tape = x.tape();
  const Matrix& right = x.differences();
  const GradcheckOptions& options = x.f.options();
  const Tensor& in = x.f.input(x.w);
  if (in.ndim() >= 2) {
    const auto parts = components_per_element(in);
    const auto n = static_cast<std::size_t>(in.size(-1));
    const auto m = static_cast<std::size_t>(in.size(-2));
    const Matrix swapped = made_of(tape.rows, tape.columns, [&](std::size_t r, std::size_t c) {
      // Element (i, j) of a transposed gradient, laid out as [n, m], is at the position of element k.
      const std::size_t k = c / parts;
      const std::size_t matrix = k / (m * n);
      const std::size_t i = k % (m * n) % m;
      const std::size_t j = k % (m * n) / m;
      return right.at(r, (matrix * m * n + i * n + j) * parts + c % parts);
    });
    if (m > 1 && n > 1 && all_agree(tape, swapped, options.atol, options.rtol)) {
      return "the gradient is transposed: its last two axes are swapped";
    }
  }
  if (tape.rows == tape.columns && tape.rows > 1) {
    const Matrix turned =
        made_of(tape.rows, tape.columns, [&](std::size_t r, std::size_t c) { return right.at(c, r); });
    if (all_agree(tape, turned, options.atol, options.rtol)) {
      return "the Jacobian is transposed: a matrix product in backward lacks a transpose, or has one too many";
    }
  }
  return {};
}

std::string swapped_inputs(const Finding& x) {
  for (std::size_t other = 0; other < x.f.input_count(); ++other) {
    if (other == x.w || x.f.input(other).shape() != x.f.input(x.w).shape()) continue;
    const Matrix& theirs = x.numerical[other][x.o];
    if (all_agree(x.tape(), theirs, x.f.options().atol, x.f.options().rtol)) {
      return str("it is the gradient of ", x.f.input_name(other),
                 ": backward returns gradients in the order of forward's arguments");
    }
  }
  return {};
}

std::string ignores_output_gradient(const Finding& x) {
  if (x.tape().rows < 2 || x.tape().largest() == 0) return {};
  const Matrix first_row =
      made_of(x.tape().rows, x.tape().columns, [&](std::size_t, std::size_t c) { return x.tape().at(0, c); });
  if (!all_agree(x.tape(), first_row, x.f.options().atol, x.f.options().rtol)) return {};
  return "every output element has the same gradient: does backward multiply by the gradient that it is given?";
}

std::string coarse_backward(const Finding& x) {
  double error = 0;
  for (std::size_t k = 0; k < x.tape().values.size(); ++k) {
    error = std::max(error, std::abs(x.tape().values[k] - x.differences().values[k]));
  }
  const double relative = error / x.differences().largest();
  if (relative < 2e-6) return "the gradient is right in float32 precision only: backward computes in float32 inside";
  if (relative < 1e-2) {
    return "the gradient is right to two or three digits: backward computes in half precision inside, or by an "
           "approximation";
  }
  return {};
}

}  // namespace

bool agrees(double analytical, double numerical, double atol, double rtol) {
  if (analytical == numerical) return true;
  return std::isfinite(numerical) && std::abs(analytical - numerical) <= tolerance(numerical, atol, rtol);
}

std::optional<WrongEntry> find_wrong(const Matrix& analytical, const Matrix& numerical, double atol, double rtol) {
  std::optional<WrongEntry> worst;
  double worst_excess = 0;
  std::size_t count = 0;
  for (std::size_t r = 0; r < analytical.rows; ++r) {
    for (std::size_t c = 0; c < analytical.columns; ++c) {
      const double a = analytical.at(r, c);
      const double n = numerical.at(r, c);
      if (agrees(a, n, atol, rtol)) continue;
      ++count;
      const double ratio = std::abs(a - n) / tolerance(n, atol, rtol);
      const double excess = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
      if (!worst || excess > worst_excess) {
        worst = {.row = r, .column = c, .count = 0};
        worst_excess = excess;
      }
    }
  }
  if (worst) worst->count = count;
  return worst;
}

std::string likely_reason(const Finding& finding) {
  // Causes that make the differences themselves doubtful come first, then patterns, from the specific to the general.
  static constexpr std::array<Question, 11> kQuestions{
      not_finite,        kink,       no_gradient,    constant_function,       coarse_forward, constant_factor,
      missing_conjugate, transposed, swapped_inputs, ignores_output_gradient, coarse_backward};
  for (const Question question : kQuestions) {
    if (std::string answer = question(finding); !answer.empty()) return answer;
  }
  const std::size_t all = finding.tape().values.size();
  if (finding.entry.count < all) return "only some entries are wrong: an index, a mask or a boundary in backward?";
  return "every entry is wrong, by no pattern: the formula in backward";
}

}  // namespace lamella::autograd
