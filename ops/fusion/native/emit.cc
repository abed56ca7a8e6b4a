#include "ops/fusion/native/emit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "ops/fusion/native/lines.h"

namespace lamella::fusion::native {
namespace {

/// Most bytes of all arrays of a kernel: most of a first cache.
constexpr std::size_t kArraysBytes = std::size_t{24} << 10;
/// Elements in an array, in registers.
constexpr std::size_t kShortestArray = 4;
constexpr std::size_t kLongestArray = 16;
constexpr int kMostArrays = 400;

/// Declarations for one dtype; T, I and B stand for the element, the integer of its size and the bytes of a register.
constexpr const char* kOfDType = R"(
typedef T V __attribute__((vector_size(B)));
typedef I M __attribute__((vector_size(B)));
typedef V Place __attribute__((aligned(sizeof(T)), may_alias));
typedef V Line __attribute__((may_alias));
typedef unsigned char Bytes __attribute__((vector_size(B / sizeof(T))));
typedef Bytes Bools __attribute__((aligned(1), may_alias));
typedef T Number __attribute__((may_alias));
typedef void (*F)(const T*, const T*, T*, long);
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

/// Lines of a kernel in stages. A call works on an array, so that it costs little for each element, and the loop in it
/// hides latencies: a stage is a loop over the registers of arrays, then the calls that take what it computed. What is
/// needed later is kept in arrays.
class Stages {
 public:
  explicit Stages(const Lines& lines, const std::vector<int>& results)
      : lines_(lines.all), at_(lines_.size(), 0), last_use_(lines_.size(), -1), array_(lines_.size(), -1) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const int of : lines_[i].of) {
        if (of >= 0) at_[i] = std::max(at_[i], ready(static_cast<std::size_t>(of)));
      }
      count_ = std::max(count_, ready(i) + 1);
    }
    delay(results);
    std::vector<bool> crosses(lines_.size(), false);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const int of : lines_[i].of) {
        if (of >= 0) use(static_cast<std::size_t>(of), at_[i], is_call(i), crosses);
      }
    }
    for (const int result : results) {
      const auto of = static_cast<std::size_t>(result);
      use(of, ready(of), false, crosses);
    }
    place(crosses);
  }

  int count() const { return count_; }
  int arrays() const { return arrays_; }
  /// The stage that computes a line.
  int at(std::size_t line) const { return at_[line]; }
  /// The first stage whose loop may read a line.
  int ready(std::size_t line) const { return at_[line] + (is_call(line) ? 1 : 0); }
  bool is_call(std::size_t line) const { return lines_[line].kind == Step::Kind::Call && !lines_[line].invariant; }
  /// The array that keeps a line; -1 if none does.
  int array(std::size_t line) const { return array_[line]; }

 private:
  /// Moves lines to the first stage that needs them: those that depend on inputs alone then cross no stage.
  void delay(const std::vector<int>& results) {
    std::vector<int> needed(lines_.size(), count_);
    const auto need = [&](int line, int stage) {
      if (line >= 0) needed[static_cast<std::size_t>(line)] = std::min(needed[static_cast<std::size_t>(line)], stage);
    };
    for (const int result : results) need(result, ready(static_cast<std::size_t>(result)));
    for (std::size_t i = lines_.size(); i-- > 0;) {
      if (lines_[i].invariant) continue;
      if (!is_call(i) && needed[i] < count_) at_[i] = needed[i];
      for (const int of : lines_[i].of) need(of, at_[i]);
    }
  }

  void use(std::size_t line, int stage, bool by_call, std::vector<bool>& crosses) {
    last_use_[line] = std::max(last_use_[line], stage);
    // Inputs are read again.
    if (lines_[line].kind == Step::Kind::Operand && !lines_[line].invariant) return;
    if (by_call || (!lines_[line].invariant && stage > at_[line])) crosses[line] = true;
  }

  void place(const std::vector<bool>& crosses) {
    std::vector<int> free;
    for (int stage = 0; stage < count_; ++stage) {
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        // Arrays of invariant lines, for calls, are filled once.
        if (array_[i] >= 0 && !lines_[i].invariant && last_use_[i] == stage - 1) free.push_back(array_[i]);
      }
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        if (!crosses[i] || array_[i] >= 0 || (lines_[i].invariant ? 0 : at_[i]) != stage) continue;
        if (free.empty() || lines_[i].invariant) {
          array_[i] = arrays_++;
        } else {
          array_[i] = free.back();
          free.pop_back();
        }
      }
    }
  }

  const std::vector<Line>& lines_;
  std::vector<int> at_;
  std::vector<int> last_use_;
  std::vector<int> array_;
  int count_ = 1;
  int arrays_ = 0;
};

class Emitter {
 public:
  Emitter(const Program& program, const Variant& variant, const Lines& lines)
      : is_float32_(variant.dtype == DType::Float32),
        lines_(lines.all),
        results_(result_lines(program, lines)),
        stages_(lines, results_) {}

  std::optional<std::string> body(int register_bytes) const {
    if (stages_.arrays() > kMostArrays) return {};
    const std::size_t bytes = static_cast<std::size_t>(std::max(1, stages_.arrays()) * register_bytes);
    const std::size_t length = std::clamp(kArraysBytes / bytes, kShortestArray, kLongestArray);
    std::string all = kParameters;
    all += is_float32_ ? "  using namespace f32;\n" : "  using namespace f64;\n";
    all += functions();
    all += "  enum { K = " + std::to_string(length) + " };\n";
    for (int k = 0; k < stages_.arrays(); ++k) all += "  V a" + std::to_string(k) + "[K];\n";
    all += before();
    all += stages_.count() > 1 ? "  for (long i = 0; i < n; i += K) {\n    const long m = n - i < K ? n - i : K;\n"
                               : "  {\n    const long i = 0, m = n;\n";
    for (int stage = 0; stage < stages_.count(); ++stage) all += loop(stage) + calls(stage);
    all += "  }\n  if (streams) end_stream();\n}\n";
    return all;
  }

 private:
  static std::vector<int> result_lines(const Program& program, const Lines& lines) {
    std::vector<int> results;
    for (const int result : result_registers(program))
      results.push_back(lines.of_register[static_cast<std::size_t>(result)]);
    return results;
  }

  static std::string name(std::size_t line) { return "t" + std::to_string(line); }
  std::string array(std::size_t line) const { return "a" + std::to_string(stages_.array(line)); }
  std::string declared(std::size_t line) const {
    return (lines_[line].mask ? "const M " : "const V ") + name(line) + " = ";
  }

  std::string operand(const Line& line) const {
    const std::string at = "(in[" + std::to_string(line.index) + "]";
    if (line.invariant) return (line.mask ? "truth" : "number") + at + ")";
    return (line.mask ? "truths" : "numbers") + at + ", i + j)";
  }

  std::string value_of(const Line& line) const {
    const auto of = [&](std::size_t k) { return name(static_cast<std::size_t>(line.of[k])); };
    switch (line.kind) {
      case Step::Kind::Operand:
        return operand(line);
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
    return line.text + "(" + of(0) + (line.of[1] < 0 ? "" : ", " + of(1)) + ")";
  }

  /// Returns the exact number as text, whatever the locale.
  std::string literal(double x) const {
    if (std::isnan(x)) return "__builtin_nan(\"\")";
    if (std::isinf(x)) return x < 0 ? "-__builtin_inf()" : "__builtin_inf()";
    char digits[64];
    char* const end = std::to_chars(std::begin(digits), std::end(digits), std::fabs(x), std::chars_format::hex).ptr;
    return (std::signbit(x) ? "-0x" : "0x") + std::string(std::begin(digits), end) + (is_float32_ ? "f" : "");
  }

  /// Returns declarations of the functions that are called, under their names: kernels whose table has another order
  /// differ in their text.
  std::string functions() const {
    std::map<std::string, int> called;
    for (const Line& line : lines_) {
      if (line.kind == Step::Kind::Call) called[line.text] = line.index;
    }
    std::string all;
    for (const auto& [text, index] : called)
      all += "  const F f_" + text + " = (F)functions[" + std::to_string(index) + "];\n";
    return all;
  }

  /// Returns what is computed once: lines that are the same for all elements, and arrays of them.
  std::string before() const {
    std::string all;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!lines_[i].invariant) continue;
      if (lines_[i].kind == Step::Kind::Call) {
        const auto of = [&](int k) { return k < 0 ? "0" : "(const T*)&" + name(static_cast<std::size_t>(k)); };
        all += "  V " + name(i) + ";\n  f_" + lines_[i].text + "(" + of(lines_[i].of[0]) + ", " + of(lines_[i].of[1]) +
               ", (T*)&" + name(i) + ", B / sizeof(T));\n";
      } else {
        all += "  " + declared(i) + value_of(lines_[i]) + ";\n";
      }
      if (stages_.array(i) >= 0) all += "  for (int k = 0; k < K; ++k) " + array(i) + "[k] = " + name(i) + ";\n";
    }
    return all;
  }

  std::string loop(int stage) const {
    std::vector<bool> read(lines_.size(), false);
    std::string computed;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.invariant || stages_.at(i) != stage || stages_.is_call(i) || line.kind == Step::Kind::Operand) continue;
      computed += "      " + declared(i) + value_of(line) + ";\n";
      if (stages_.array(i) >= 0) computed += "      " + array(i) + "[j] = (V)" + name(i) + ";\n";
      for (const int of : line.of) {
        if (of >= 0) read[static_cast<std::size_t>(of)] = true;
      }
    }
    for (std::size_t k = 0; k < results_.size(); ++k) {
      const auto result = static_cast<std::size_t>(results_[k]);
      if (stages_.ready(result) != stage) continue;
      read[result] = true;
      computed += "      put(out[" + std::to_string(k) + "], i + j, " + name(result) + ", streams);\n";
    }
    if (computed.empty()) return "";
    std::string all = "    for (long j = 0; j < m; ++j) {\n";
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!read[i] || lines_[i].invariant) continue;
      if (lines_[i].kind == Step::Kind::Operand) {
        all += "      " + declared(i) + operand(lines_[i]) + ";\n";
      } else if (stages_.is_call(i) || stages_.at(i) < stage) {
        all += "      " + declared(i) + (lines_[i].mask ? "(M)" : "") + array(i) + "[j];\n";
      }
    }
    return all + computed + "    }\n";
  }

  std::string calls(int stage) const {
    const auto argument = [&](int of) -> std::string {
      if (of < 0) return "0";
      const auto line = static_cast<std::size_t>(of);
      if (stages_.array(line) >= 0) return "(const T*)" + array(line);
      return "(const T*)(in[" + std::to_string(lines_[line].index) + "] + i * B)";
    };
    std::string all;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!stages_.is_call(i) || stages_.at(i) != stage || stages_.array(i) < 0) continue;
      all += "    f_" + lines_[i].text + "(" + argument(lines_[i].of[0]) + ", " + argument(lines_[i].of[1]) + ", (T*)" +
             array(i) + ", m * (B / sizeof(T)));\n";
    }
    return all;
  }

  bool is_float32_;
  const std::vector<Line>& lines_;
  std::vector<int> results_;
  Stages stages_;
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

std::optional<std::string> kernel_body(const Program& program, const Variant& variant, int register_bytes) {
  const std::optional<Lines> lines = lines_of(program, variant, Target::Cpu);
  return lines ? Emitter(program, variant, *lines).body(register_bytes) : std::nullopt;
}

}  // namespace lamella::fusion::native
