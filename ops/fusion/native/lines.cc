#include "ops/fusion/native/lines.h"

#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ops/fusion/native/formulas.h"

namespace lamella::fusion::native {
namespace {

/// More lines would take seconds to compile.
constexpr std::size_t kMostLines = 2000;

class Lowering {
 public:
  Lowering(const Program& program, const Variant& variant, Target target)
      : program_(program), variant_(variant), target_(target), line_of_(program.registers.size(), -1) {}

  std::optional<Lines> run() {
    for (std::size_t r = 0; r < program_.registers.size(); ++r) add_operand(r);
    for (const Instruction& instruction : program_.instructions) {
      const Step* const formula = formula_of(*instruction.op, instruction.wrt);
      if (!formula) return {};
      std::vector<int> operands;
      for (const int operand : instruction.operands) operands.push_back(line_of_[static_cast<std::size_t>(operand)]);
      line_of_[static_cast<std::size_t>(instruction.result)] = lower_formula(formula, operands);
      if (lines_.size() > kMostLines) return {};
    }
    return Lines{std::move(lines_), std::move(line_of_)};
  }

 private:
  bool is_float32() const { return variant_.dtype == DType::Float32; }
  double rounded(double x) const { return is_float32() ? static_cast<double>(static_cast<float>(x)) : x; }

  void add_operand(std::size_t r) {
    const Register& one = program_.registers[r];
    if (one.kind == Register::Kind::Result) return;
    Line line{.mask = one.mask};
    if (one.kind == Register::Kind::Constant) {
      line.index = program_.inputs + one.index;
      line.invariant = true;
      line.known = rounded(program_.constants[static_cast<std::size_t>(one.index)].to<double>());
    } else {
      line.index = one.index;
      line.invariant = variant_.single[static_cast<std::size_t>(one.index)];
    }
    line_of_[r] = static_cast<int>(lines_.size());
    lines_.push_back(std::move(line));
  }

  int lower_formula(const Step* formula, const std::vector<int>& operands) {
    std::unordered_map<const Step*, int> done;
    return lower(formula, operands, done);
  }

  int lower(const Step* step, const std::vector<int>& operands, std::unordered_map<const Step*, int>& done) {
    if (step->kind == Step::Kind::Operand) return operands[static_cast<std::size_t>(step->index)];
    if (const auto found = done.find(step); found != done.end()) return found->second;
    Line line{.kind = step->kind,
              .mask = step->mask,
              .text = step->text,
              .index = step->index,
              .number = rounded(step->number),
              .invariant = true};
    for (std::size_t k = 0; k < 3 && step->of[k]; ++k) {
      line.of[k] = lower(step->of[k], operands, done);
      line.invariant &= at(line.of[k]).invariant;
    }
    if (line.kind == Step::Kind::Number) line.known = line.number;
    if (line.kind == Step::Kind::Infix && line.text == "-") {
      const std::optional<double> a = at(line.of[0]).known, b = at(line.of[1]).known;
      if (a && b) line.known = rounded(*a - *b);
    }
    int result = -1;
    // The eager kernels of devices have no exponents that they know, and compute gelu_erf by its formula.
    if (calls(line, cpu::VectorFunction::Pow) && target_ == Target::Cpu) result = lower_power(line.of[0], line.of[1]);
    if (calls(line, cpu::VectorFunction::Gelu) && target_ == Target::Device)
      result = lower_formula(gelu_formula(), {line.of[0]});
    if (result < 0) result = add(std::move(line));
    done.emplace(step, result);
    return result;
  }

  /// Returns the line of a power with a known exponent that takes no call; -1 for others.
  int lower_power(int base, int exponent) {
    const std::optional<double> known = at(exponent).known;
    if (!known) return -1;
    const auto operand = [](int index) { return Expression(make_step({.kind = Step::Kind::Operand, .index = index})); };
    const Step* const formula = power(operand(0), operand(1), *known).step();
    return formula->kind == Step::Kind::Call ? -1 : lower_formula(formula, {base, exponent});
  }

  static bool calls(const Line& line, cpu::VectorFunction function) {
    return line.kind == Step::Kind::Call && line.index == static_cast<int>(function);
  }

  const Line& at(int line) const { return lines_[static_cast<std::size_t>(line)]; }

  /// Returns the line with these contents, which is added if there is none.
  int add(Line line) {
    const auto key = std::tuple(line.kind, line.text, line.index, std::bit_cast<std::uint64_t>(line.number), line.of[0],
                                line.of[1], line.of[2]);
    const auto [found, added] = known_lines_.emplace(key, static_cast<int>(lines_.size()));
    if (added) lines_.push_back(std::move(line));
    return found->second;
  }

  const Steps steps_;
  const Program& program_;
  const Variant& variant_;
  Target target_;
  std::vector<Line> lines_;
  std::vector<int> line_of_;
  std::map<std::tuple<Step::Kind, std::string, int, std::uint64_t, int, int, int>, int> known_lines_;
};

}  // namespace

std::optional<Lines> lines_of(const Program& program, const Variant& variant, Target target) {
  return Lowering(program, variant, target).run();
}

}  // namespace lamella::fusion::native
