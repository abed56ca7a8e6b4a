#include "ops/fusion/native/device_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "ops/fusion/native/emit.h"
#include "ops/fusion/native/lines.h"

namespace lamella::fusion::native {
namespace {

/// Most parameters of a kernel, which has room for 4 KiB of them.
constexpr std::size_t kMostParameters = 400;

/// Functions that CUDA does not have: those of templates of ops/simd.
constexpr std::string_view kWithout[] = {"erfinv", "digamma", "zeta"};

class DeviceEmitter {
 public:
  DeviceEmitter(const Program& program, const Variant& variant, const Lines& lines)
      : program_(program), variant_(variant), lines_(lines) {}

  std::string source() const {
    std::string all = std::string("typedef ") + (is_float32() ? "float" : "double") + " T;\n__global__ void " +
                      kDeviceKernel + "(long long n" + parameters() +
                      ") {\n"
                      "  const long long step = (long long)gridDim.x * blockDim.x;\n"
                      "  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {\n";
    for (std::size_t i = 0; i < lines_.all.size(); ++i) {
      const Line& line = lines_.all[i];
      all += std::string("    const ") + (line.mask ? "bool " : "T ") + name(static_cast<int>(i)) + " = " +
             value_of(line) + ";\n";
    }
    const std::vector<int> results = result_registers(program_);
    for (std::size_t k = 0; k < results.size(); ++k)
      all += "    out" + std::to_string(k) + "[i] = " + name(lines_.of_register[static_cast<std::size_t>(results[k])]) +
             ";\n";
    return all + "  }\n}\n";
  }

 private:
  bool is_float32() const { return variant_.dtype == DType::Float32; }
  static std::string name(int line) { return "t" + std::to_string(line); }

  std::string parameters() const {
    std::vector<std::string> of(static_cast<std::size_t>(program_.inputs) + program_.constants.size());
    for (const Register& one : program_.registers) {
      const std::string type = one.mask ? "bool" : "T";
      if (one.kind == Register::Kind::Input)
        of[static_cast<std::size_t>(one.index)] = ", const " + type + "* in" + std::to_string(one.index);
      if (one.kind == Register::Kind::Constant) {
        const int place = program_.inputs + one.index;
        of[static_cast<std::size_t>(place)] = ", " + type + " in" + std::to_string(place);
      }
    }
    std::string all;
    for (const std::string& parameter : of) all += parameter;
    const std::vector<int> results = result_registers(program_);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const bool mask = program_.registers[static_cast<std::size_t>(results[k])].mask;
      all += (mask ? ", bool* out" : ", T* out") + std::to_string(k);
    }
    return all;
  }

  std::string operand(const Line& line) const {
    std::string in = "in" + std::to_string(line.index);
    if (line.index >= program_.inputs) return in;
    return in + (line.invariant ? "[0]" : "[i]");
  }

  std::string value_of(const Line& line) const {
    const auto of = [&](std::size_t k) { return name(line.of[k]); };
    switch (line.kind) {
      case Step::Kind::Operand:
        return operand(line);
      case Step::Kind::Number:
        return literal(line.number);
      case Step::Kind::Prefix:
        return (line.mask ? "!" : line.text) + of(0);
      case Step::Kind::Infix:
        return of(0) + " " + line.text + " " + of(1);
      case Step::Kind::Select:
        return of(0) + " ? " + of(1) + " : " + of(2);
      case Step::Kind::Inline:
        if (line.text == "signbit") return "signbit(" + of(0) + ")";
        if (line.text == "larger") return of(0) + " > " + of(1) + " ? " + of(0) + " : " + of(1);
        if (line.text == "smaller") return of(0) + " < " + of(1) + " ? " + of(0) + " : " + of(1);
        break;
      case Step::Kind::Call:
        break;
    }
    std::string function = line.text == "abs" ? "fabs" : line.text == "round" ? "rint" : line.text;
    if (is_float32()) function += "f";
    return function + "(" + of(0) + (line.of[1] < 0 ? "" : ", " + of(1)) + ")";
  }

  /// Returns the exact number as text, whatever the locale.
  std::string literal(double x) const {
    if (std::isnan(x)) return is_float32() ? "nanf(\"\")" : "nan(\"\")";
    if (std::isinf(x))
      return std::string(x < 0 ? "-" : "") +
             (is_float32() ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)");
    char digits[64];
    char* const end = std::to_chars(std::begin(digits), std::end(digits), std::fabs(x), std::chars_format::hex).ptr;
    return (std::signbit(x) ? "-0x" : "0x") + std::string(std::begin(digits), end) + (is_float32() ? "f" : "");
  }

  const Program& program_;
  const Variant& variant_;
  const Lines& lines_;
};

}  // namespace

std::optional<std::string> device_source(const Program& program, const Variant& variant) {
  const std::optional<Lines> lines = lines_of(program, variant, Target::Device);
  if (!lines ||
      static_cast<std::size_t>(program.inputs) + program.constants.size() + program.outputs.size() > kMostParameters)
    return {};
  for (const Line& line : lines->all) {
    if (line.kind == Step::Kind::Call && std::ranges::find(kWithout, line.text) != std::end(kWithout)) return {};
  }
  return DeviceEmitter(program, variant, *lines).source();
}

}  // namespace lamella::fusion::native
