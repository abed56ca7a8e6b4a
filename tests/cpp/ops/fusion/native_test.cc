#include "ops/fusion/native/native.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/elementwise/launch.h"
#include "ops/elementwise/list.h"
#include "ops/fusion/native/formulas.h"
#include "ops/fusion/native/process.h"
#include "ops/fusion/program.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

namespace native = fusion::native;
using fusion::Program;
using fusion::Register;

/// A folder that is empty, and removed with what is in it.
class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "lamella-test-XXXXXX";
    if (mkdtemp(path.data())) path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class NativePrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!native::find_program("c++") && !native::find_program("g++") && !native::find_program("clang++"))
      GTEST_SKIP() << "there is no C++ compiler on this machine";
    set(native::Mode::Wait);
  }
  void TearDown() override {
    native::untold_problems();
    native::set_settings(before_);
  }
  void set(native::Mode mode) {
    native::Settings settings = before_;
    settings.mode = mode;
    settings.cache = folder_.path();
    native::set_settings(settings);
  }

 private:
  native::Settings before_ = native::settings();
  Folder folder_;
};

template <class T>
constexpr DType kDTypeOf = std::is_same_v<T, float> ? DType::Float32 : DType::Float64;

/// Returns numbers among which are all pairs of special ones, in the first two rows.
template <class T>
std::vector<Tensor> operands(int count, std::int64_t n, bool mask_first) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special{0,
                               T(-0.0),
                               1,
                               -1,
                               T(0.5),
                               T(-0.5),
                               2,
                               3,
                               -3,
                               20,
                               -20,
                               100,
                               -90,
                               1000,
                               -1000,
                               T(1e-30),
                               T(1e30),
                               Limits::infinity(),
                               -Limits::infinity(),
                               Limits::quiet_NaN(),
                               Limits::min(),
                               Limits::denorm_min(),
                               Limits::max()};
  std::mt19937 random(static_cast<unsigned>(count));
  std::normal_distribution<T> normal(0, 2);
  std::vector<Tensor> tensors;
  for (int k = 0; k < count; ++k) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto turn = static_cast<std::size_t>(k % 2 == 0 ? i : i / static_cast<std::int64_t>(special.size()));
      const bool is_special = i < static_cast<std::int64_t>(special.size() * special.size());
      values.push_back(is_special ? special[turn % special.size()] : normal(random));
    }
    if (k == 0 && mask_first) {
      Tensor mask = empty({n}, DType::Bool);
      for (std::int64_t i = 0; i < n; ++i) mask.data<bool>()[i] = values[static_cast<std::size_t>(i)] > 0;
      tensors.push_back(mask);
    } else {
      tensors.push_back(tensor_of(values));
    }
  }
  return tensors;
}

template <class T>
void expect_same_bits(const Tensor& got, const Tensor& wanted, const std::string& what) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  ASSERT_EQ(got.numel(), wanted.numel()) << what;
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const T a = got.data<T>()[i], b = wanted.data<T>()[i];
    if (a != a && b != b) continue;
    ASSERT_EQ(std::bit_cast<Bits>(a), std::bit_cast<Bits>(b)) << what << ": " << a << " for " << b << " at " << i;
  }
}

/// Runs the program block by block and compiled, and compares the bits.
template <class T>
void compare(const Program& program, const std::vector<Tensor>& inputs, const std::string& what) {
  const native::Settings settings = native::settings();
  native::Settings off = settings;
  off.mode = native::Mode::Off;
  native::set_settings(off);
  const std::vector<Tensor> wanted = fusion::run(program, inputs);
  native::set_settings(settings);
  native::Variant variant{.dtype = kDTypeOf<T>, .single = {}};
  for (const Tensor& x : inputs) variant.single.push_back(x.ndim() == 0);
  const std::vector<Tensor> got = fusion::run(program, inputs);
  ASSERT_NE(native::find_kernel(program, variant, inputs.back().numel()), nullptr) << what << " was not compiled";
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].defined(), wanted[k].defined()) << what;
    if (!got[k].defined()) continue;
    if (got[k].dtype() == DType::Bool) {
      expect_same_bits<bool>(got[k], wanted[k], what);
    } else {
      expect_same_bits<T>(got[k], wanted[k], what);
    }
  }
}

std::vector<const ElementwiseOp*> operators() {
  std::vector<const ElementwiseOp*> all;
  ElementwiseOps::for_each([&]<class Op> {
    if (Op::info.dtypes.contains(DType::Float32)) all.push_back(&elementwise_op<Op>());
  });
  return all;
}

TEST_F(NativePrograms, HaveAFormulaForEveryOperatorOfFloats) {
  const native::Steps steps;
  for (const ElementwiseOp* op : operators()) {
    EXPECT_NE(native::formula_of(*op, -1), nullptr) << op->info->name;
    for (int i = 0; i < op->inputs; ++i)
      EXPECT_EQ(native::formula_of(*op, i) != nullptr, op->reads[static_cast<std::size_t>(i)] != 0) << op->info->name;
  }
}

/// Inputs of a program that calls operators: four tensors, a mask, and a gradient.
struct Inputs {
  std::vector<int> numbers;
  int mask;
  int dy;

  explicit Inputs(Program& program) {
    for (int k = 0; k < 4; ++k) numbers.push_back(program.add_register(Register::Kind::Input, program.inputs++, false));
    mask = program.add_register(Register::Kind::Input, program.inputs++, true);
    dy = program.add_register(Register::Kind::Input, program.inputs++, false);
  }
  int of(const ElementwiseOp& op, int k) const {
    return op.mask_input && k == 0 ? mask : numbers[static_cast<std::size_t>(k)];
  }
};

/// Adds a call of an operator, and of each of its gradient kernels, as outputs.
void add_calls(Program& program, const Inputs& inputs, const ElementwiseOp& op) {
  SmallVector<int, 4> operands;
  for (int k = 0; k < op.inputs; ++k) operands.push_back(inputs.of(op, k));
  const int y = program.add(op, operands);
  program.outputs.push_back(y);
  for (int i = 0; i < op.inputs; ++i) {
    const unsigned reads = op.reads[static_cast<std::size_t>(i)];
    if (!reads || !has_fused_backward(op, i)) continue;
    SmallVector<int, 4> read;
    for (int k = 0; k < op.inputs + 2; ++k) {
      if (reads >> k & 1) read.push_back(k < op.inputs ? inputs.of(op, k) : k == op.inputs ? y : inputs.dy);
    }
    program.outputs.push_back(program.add_gradient(op, i, read));
  }
}

/// Compares all operators, several in a program, as each is compiled by itself.
template <class T>
void compare_operators() {
  constexpr std::size_t kInOne = 20;
  const std::vector<const ElementwiseOp*> all = operators();
  for (std::size_t begin = 0; begin < all.size(); begin += kInOne) {
    Program program;
    const Inputs inputs(program);
    std::string names = "one of";
    for (std::size_t i = begin; i < std::min(all.size(), begin + kInOne); ++i) {
      add_calls(program, inputs, *all[i]);
      names += std::string(" ") + all[i]->info->name;
    }
    // All pairs of special numbers, some others, and a rest that fills no register.
    std::vector<Tensor> tensors = operands<T>(4, 601, false);
    tensors.push_back(operands<T>(1, 601, true)[0]);
    tensors.push_back(operands<T>(3, 601, false)[2]);
    compare<T>(program, tensors, names);
  }
}

TEST_F(NativePrograms, ComputeTheBitsOfEveryOperatorInFloat32) { compare_operators<float>(); }
TEST_F(NativePrograms, ComputeTheBitsOfEveryOperatorInFloat64) { compare_operators<double>(); }

/// Returns a program of random operators on three tensors, a single number and constants.
Program random_program(std::mt19937& random) {
  const std::vector<const ElementwiseOp*> all = operators();
  Program program;
  std::vector<int> numbers, masks;
  for (int k = 0; k < 4; ++k) numbers.push_back(program.add_register(Register::Kind::Input, program.inputs++, false));
  masks.push_back(program.add_register(Register::Kind::Input, program.inputs++, true));
  for (const double value : {2.0, -0.5, 3.0, 1.25}) numbers.push_back(program.add_constant(value));
  const auto any_of = [&](const std::vector<int>& list) { return list[random() % list.size()]; };
  for (int i = 0; i < 12; ++i) {
    const ElementwiseOp& op = *all[random() % all.size()];
    SmallVector<int, 4> registers;
    for (int k = 0; k < op.inputs; ++k) registers.push_back(any_of(op.mask_input && k == 0 ? masks : numbers));
    const int result = program.add(op, registers);
    (op.mask_output ? masks : numbers).push_back(result);
    if (i % 4 == 3) program.outputs.push_back(result);
  }
  program.name = "random";
  program.drop_unread();
  return program;
}

template <class T>
void compare_random_programs(unsigned seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 15; ++round) {
    const Program program = random_program(random);
    const std::int64_t n = std::vector<std::int64_t>{1, 15, 16, 17, 64, 1000, 40'003}[random() % 7];
    std::vector<Tensor> inputs = operands<T>(3, n, false);
    inputs.push_back(make_view(operands<T>(1, 30, false)[0], {}, {}, 24));
    inputs.push_back(operands<T>(1, n, true)[0]);
    const std::string what = "random program " + std::to_string(round);
    compare<T>(program, inputs, what);
    std::vector<bool> given;
    for (const int output : program.outputs) {
      given.push_back(!program.registers[static_cast<std::size_t>(output)].mask);
      if (given.back()) inputs.push_back(operands<T>(2, n, false)[1]);
    }
    const std::shared_ptr<const Program> gradient = program.gradient({true, true, true, false, false}, given, {});
    if (!gradient->instructions.empty()) compare<T>(*gradient, inputs, "gradient of " + what);
  }
}

TEST_F(NativePrograms, ComputeTheBitsOfRandomProgramsInFloat32) { compare_random_programs<float>(1); }
TEST_F(NativePrograms, ComputeTheBitsOfRandomProgramsInFloat64) { compare_random_programs<double>(2); }

TEST_F(NativePrograms, ThatDifferInNumbersShareTheirCode) {
  const auto of = [](double factor) {
    Program program;
    const int x = program.add_register(Register::Kind::Input, program.inputs++, false);
    program.outputs.push_back(program.add(elementwise_op<Multiply>(), {x, program.add_constant(factor)}));
    return program;
  };
  const Tensor x = tensor_of<float>({1, 2, 3});
  const int before = native::status().compiled;
  EXPECT_EQ(values<float>(fusion::run(of(1.75), std::vector{x})[0]), (std::vector<float>{1.75, 3.5, 5.25}));
  EXPECT_EQ(values<float>(fusion::run(of(-3.5), std::vector{x})[0]), (std::vector<float>{-3.5, -7, -10.5}));
  EXPECT_LE(native::status().compiled, before + 1);
}

TEST_F(NativePrograms, ThatAreTooLongRunBlockByBlock) {
  Program program;
  int x = program.add_register(Register::Kind::Input, program.inputs++, false);
  for (int i = 0; i < 3000; ++i) x = program.add(elementwise_op<Add>(), {x, 0});
  program.outputs.push_back(x);
  EXPECT_EQ(values<double>(fusion::run(program, std::vector{tensor_of<double>({1})})[0]), (std::vector<double>{3001}));
  EXPECT_EQ(native::find_kernel(program, {.dtype = DType::Float64, .single = {false}}, 1), nullptr);
}

}  // namespace
}  // namespace lamella::testing
