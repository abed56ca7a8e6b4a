#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/transforms/checked_function.h"

namespace lamella::autograd {

/// A wrong entry of a Jacobian.
struct WrongEntry {
  std::size_t row = 0;
  std::size_t column = 0;
  /// Number of wrong entries of the matrix.
  std::size_t count = 0;
};

/// True if two numbers agree within the tolerances; an infinity agrees with itself only, NaN with nothing.
bool agrees(double analytical, double numerical, double atol, double rtol);

/// Returns the entry that is farthest off, measured in tolerances; nothing if all agree.
std::optional<WrongEntry> find_wrong(const Matrix& analytical, const Matrix& numerical, double atol, double rtol);

/// An output and an input whose Jacobian is wrong, with everything computed on the way.
struct Finding {
  const CheckedFunction& f;
  const Analytical& analytical;
  /// Numerical Jacobians [w][o].
  const std::vector<std::vector<Matrix>>& numerical;
  std::size_t o;
  std::size_t w;
  WrongEntry entry;

  const Matrix& tape() const { return analytical.jacobians[o][w]; }
  const Matrix& differences() const { return numerical[w][o]; }
};

/// Returns the probable cause, a clause that begins in lower case; found by comparing the two Jacobians and, near the
/// entry, by calling the function again.
std::string likely_reason(const Finding& finding);

}  // namespace lamella::autograd
