#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/fusion/native/expression.h"
#include "ops/fusion/native/forms.h"
#include "ops/fusion/program.h"

namespace lamella::fusion::native {

/// A value of a kernel: a step of a formula whose operands are lines.
struct Line {
  Step::Kind kind = Step::Kind::Operand;
  bool mask = false;
  std::string text = {};
  /// Number of the input, or constant after those; of the function that is called.
  int index = 0;
  double number = 0;
  int of[3] = {-1, -1, -1};
  /// True if it is the same for all elements.
  bool invariant = false;
  /// The number that it is in every run of the program, if that is known.
  std::optional<double> known = {};
};

struct Lines {
  std::vector<Line> all;
  /// For each of the program's registers, the line that has its elements.
  std::vector<int> of_register;
};

/// Where lines are compiled, which decides the functions that they call.
enum class Target { Cpu, Device };

/// Returns the formulas of a program, in order, each value once; nothing if an operator has no formula, or if there are
/// too many lines.
std::optional<Lines> lines_of(const Program& program, const Variant& variant, Target target);

}  // namespace lamella::fusion::native
