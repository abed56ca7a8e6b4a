#include "ops/fusion/native/emit.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ops/fusion/native/formulas.h"

namespace lamella::fusion::native {
namespace {

/// More lines would take seconds to compile.
constexpr std::size_t kMostLines = 2000;

/// Declarations for one dtype; T, I and B stand for the element, the integer of its size and the bytes of a register.
constexpr const char* kOfDType = R"(
typedef T V __attribute__((vector_size(B)));
typedef I M __attribute__((vector_size(B)));
typedef V Place __attribute__((aligned(sizeof(T)), may_alias));
typedef V Line __attribute__((may_alias));
typedef unsigned char Bytes __attribute__((vector_size(B / sizeof(T))));
typedef Bytes Bools __attribute__((aligned(1), may_alias));
typedef T Number __attribute__((may_alias));
typedef V (*F1)(V);
typedef V (*F2)(V, V);
static inline V splat(T x) { return x - V{}; }
static inline V number(const char* at) { return splat(*(const Number*)at); }
static inline M truth(const char* at) { return M{} - (I)(*at != 0); }
static inline V numbers(const char* at, long i) { return *(const Place*)(at + i * B); }
static inline M truths(const char* at, long i) {
  return (M)(__builtin_convertvector(*(const Bools*)(at + i * (B / sizeof(T))), M) != 0);
}
static inline void put(char* at, long i, V v, int streams) {
  if (streams) stream((Line*)(at + i * B), v); else *(Place*)(at + i * B) = v;
}
static inline void put(char* at, long i, M m, int) {
  *(Bools*)(at + i * (B / sizeof(T))) = __builtin_convertvector(m & 1, Bytes);
}
static inline V abs(V a) { return (V)((M)a & ~(M)splat(-T(0))); }
static inline V copysign(V a, V b) { const M sign = (M)splat(-T(0)); return (V)(((M)a & ~sign) | ((M)b & sign)); }
static inline M signbit(V a) { return (M)((M)a < 0); }
static inline V larger(V a, V b) { return a > b ? a : b; }
static inline V smaller(V a, V b) { return a < b ? a : b; }
)";

constexpr const char* kParameters =
    "(const char* const* in, char* const* out, void (*const* functions)(), long n, int streams) {\n";

/// A value of the kernel: a step whose operands are lines.
struct Line {
  Step::Kind kind = Step::Kind::Operand;
  bool mask = false;
  /// Operands: the expression that reads the input.
  std::string text = {};
  int index = 0;
  double number = 0;
  int of[3] = {-1, -1, -1};
  /// True if it is the same for all elements.
  bool invariant = false;
  /// The number that it is in every run of the program, if that is known.
  std::optional<double> known = {};
};

class Emitter {
 public:
  Emitter(const Program& program, const Variant& variant)
      : program_(program), variant_(variant), line_of_(program.registers.size(), -1) {}

  std::optional<std::string> body() {
    for (std::size_t r = 0; r < program_.registers.size(); ++r) add_operand(r);
    for (const Instruction& instruction : program_.instructions) {
      const StepPtr formula = formula_of(*instruction.op, instruction.wrt);
      if (!formula) return {};
      std::vector<int> operands;
      for (const int operand : instruction.operands) operands.push_back(line_of_[static_cast<std::size_t>(operand)]);
      line_of_[static_cast<std::size_t>(instruction.result)] = lower_formula(formula, operands);
      if (lines_.size() > kMostLines) return {};
    }
    return text();
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
    const std::string at = "in[" + std::to_string(line.index) + "]";
    if (line.invariant) {
      line.text = (line.mask ? "truth(" : "number(") + at + ")";
    } else {
      line.text = (line.mask ? "truths(" : "numbers(") + at + ", i)";
    }
    line_of_[r] = static_cast<int>(lines_.size());
    lines_.push_back(std::move(line));
  }

  int lower_formula(const StepPtr& formula, const std::vector<int>& operands) {
    std::unordered_map<const Step*, int> done;
    return lower(formula, operands, done);
  }

  int lower(const StepPtr& step, const std::vector<int>& operands, std::unordered_map<const Step*, int>& done) {
    if (step->kind == Step::Kind::Operand) return operands[static_cast<std::size_t>(step->index)];
    if (const auto found = done.find(step.get()); found != done.end()) return found->second;
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
    if (line.kind == Step::Kind::Infix && line.text == "-" && at(line.of[0]).known && at(line.of[1]).known)
      line.known = rounded(*at(line.of[0]).known - *at(line.of[1]).known);
    int result = -1;
    if (line.kind == Step::Kind::Call && line.index == static_cast<int>(cpu::VectorFunction::Pow))
      result = lower_power(line.of[0], line.of[1]);
    if (result < 0) result = add(std::move(line));
    done.emplace(step.get(), result);
    return result;
  }

  /// Returns the line of a power with a known exponent that takes no call; -1 for others.
  int lower_power(int base, int exponent) {
    if (!at(exponent).known) return -1;
    const auto operand = [](int index) {
      return Expression(std::make_shared<const Step>(Step{.kind = Step::Kind::Operand, .index = index}));
    };
    const StepPtr formula = power(operand(0), operand(1), *at(exponent).known).step();
    return formula->kind == Step::Kind::Call ? -1 : lower_formula(formula, {base, exponent});
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

  static std::string name(int line) { return "t" + std::to_string(line); }

  std::string value_of(const Line& line) const {
    const auto of = [&](std::size_t k) { return name(line.of[k]); };
    switch (line.kind) {
      case Step::Kind::Operand:
        return line.text;
      case Step::Kind::Number:
        return "splat(" + literal(line.number) + ")";
      case Step::Kind::Prefix:
        return line.text + of(0);
      case Step::Kind::Infix:
        return (line.mask ? "(M)(" : "(") + of(0) + " " + line.text + " " + of(1) + ")";
      case Step::Kind::Select:
        return of(0) + " ? " + of(1) + " : " + of(2);
      case Step::Kind::Inline:
      case Step::Kind::Call:
        break;
    }
    return (line.kind == Step::Kind::Call ? "f_" : "") + line.text + "(" + of(0) +
           (line.of[1] < 0 ? "" : ", " + of(1)) + ")";
  }

  /// Returns the exact number as text, whatever the locale.
  std::string literal(double x) const {
    if (std::isnan(x)) return "__builtin_nan(\"\")";
    if (std::isinf(x)) return x < 0 ? "-__builtin_inf()" : "__builtin_inf()";
    char digits[64];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), std::fabs(x), std::chars_format::hex).ptr;
    return (std::signbit(x) ? "-0x" : "0x") + std::string(digits, end) + (is_float32() ? "f" : "");
  }

  std::string text() const {
    std::string before, inside, functions;
    std::map<std::string, std::string> called;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      std::string& to = line.invariant ? before : inside;
      to += (line.invariant ? "  const " : "    const ") + std::string(line.mask ? "M " : "V ") +
            name(static_cast<int>(i)) + " = " + value_of(line) + ";\n";
      if (line.kind != Step::Kind::Call) continue;
      const std::string type = line.of[1] < 0 ? "F1" : "F2";
      called[line.text] = type + " f_" + line.text + " = (" + type + ")functions[" + std::to_string(line.index) + "]";
    }
    for (const auto& [_, declaration] : called) functions += "  const " + declaration + ";\n";
    const std::vector<int> results = result_registers(program_);
    for (std::size_t k = 0; k < results.size(); ++k) {
      inside += "    put(out[" + std::to_string(k) + "], i, " + name(line_of_[static_cast<std::size_t>(results[k])]) +
                ", streams);\n";
    }
    std::string all = kParameters;
    all += is_float32() ? "  using namespace f32;\n" : "  using namespace f64;\n";
    all += functions + before;
    all += "  for (long i = 0; i < n; ++i) {\n";
    all += inside;
    all += "  }\n  if (streams) end_stream();\n}\n";
    return all;
  }

  const Program& program_;
  const Variant& variant_;
  std::vector<Line> lines_;
  /// For each of the program's registers, the line that has its elements.
  std::vector<int> line_of_;
  std::map<std::tuple<Step::Kind, std::string, int, std::uint64_t, int, int, int>, int> known_lines_;
};

/// Returns the functions that store past the caches, as each compiler has them.
std::string streaming(int register_bytes) {
  const std::string builtin = register_bytes == 64   ? "__builtin_ia32_movntps512"
                              : register_bytes == 32 ? "__builtin_ia32_movntps256"
                                                     : "__builtin_ia32_movntps";
  return "#if defined(__SSE2__)\nstatic inline void end_stream() { __builtin_ia32_sfence(); }\n"
         "#else\nstatic inline void end_stream() {}\n#endif\n"
         "typedef float Singles __attribute__((vector_size(" +
         std::to_string(register_bytes) +
         ")));\n"
         "template <class L, class V> static inline void stream(L* at, V v) {\n"
         "#if defined(__clang__)\n  __builtin_nontemporal_store(v, at);\n"
         "#elif defined(__SSE2__)\n  " +
         builtin + "((float*)at, (Singles)v);\n#else\n  *at = v;\n#endif\n}\n";
}

}  // namespace

std::vector<int> result_registers(const Program& program) {
  std::vector<int> results;
  for (const int output : program.outputs) {
    if (output < 0 || program.registers[static_cast<std::size_t>(output)].kind != Register::Kind::Result) continue;
    if (std::ranges::find(results, output) == results.end()) results.push_back(output);
  }
  return results;
}

std::string prelude(int register_bytes) {
  const std::string size = "enum { B = " + std::to_string(register_bytes) + " };\n";
  return size + streaming(register_bytes) + "namespace f32 {\ntypedef float T;\ntypedef int I;" + kOfDType +
         "}\nnamespace f64 {\ntypedef double T;\ntypedef long long I;" + kOfDType + "}\n";
}

std::optional<std::string> kernel_body(const Program& program, const Variant& variant) {
  return Emitter(program, variant).body();
}

}  // namespace lamella::fusion::native
