#include "ops/fusion/program.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/trigonometry.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using fusion::Program;
using fusion::Register;

struct Case {
  std::string name;
  std::function<int(Program&, int x)> build;
  /// Number of values that a recorded run keeps.
  std::size_t kept;
};

std::vector<Case> cases() {
  const auto twice = [](Program& p, int x) { return p.add(elementwise_op<Multiply>(), {x, p.add_constant(2.0)}); };
  return {
      {"sums and products are computed anew",
       [=](Program& p, int x) { return p.add(elementwise_op<Multiply>(), {twice(p, x), x}); }, 0},
      {"what gradients read and takes long is kept",
       [=](Program& p, int x) { return twice(p, p.add(elementwise_op<Tanh>(), {twice(p, x)})); }, 1},
      {"what no gradient reads is not", [=](Program& p, int x) { return twice(p, p.add(elementwise_op<Sin>(), {x})); },
       0},
      {"a square is a product",
       [=](Program& p, int x) {
         return p.add(elementwise_op<Multiply>(), {p.add(elementwise_op<Pow>(), {x, p.add_constant(2.0)}), x});
       },
       0},
      {"another power is not",
       [=](Program& p, int x) {
         return p.add(elementwise_op<Multiply>(), {p.add(elementwise_op<Pow>(), {x, p.add_constant(2.5)}), x});
       },
       1},
      {"an output is kept as well", [](Program& p, int x) { return p.add(elementwise_op<Exp>(), {x}); }, 1},
  };
}

TEST(FusedPrograms, KeepWhatTakesLong) {
  for (const Case& one : cases()) {
    Program program;
    const int x = program.add_register(Register::Kind::Input, program.inputs++, false);
    program.outputs.push_back(one.build(program, x));
    const auto recorded = program.recorded({true});
    EXPECT_EQ(recorded->kept.size(), one.kept) << one.name;
    EXPECT_TRUE(program.recorded({false})->kept.empty()) << one.name;

    const Tensor a = tensor_of<double>({0.25, 1.5, 2.0});
    const Tensor dy = tensor_of<double>({1.0, -2.0, 0.5});
    std::vector<Tensor> outputs = fusion::run(recorded->program, std::vector{a});
    ASSERT_EQ(outputs.size(), 1 + one.kept) << one.name;
    std::vector<Tensor> given{a};
    given.insert(given.end(), outputs.begin() + 1, outputs.end());
    given.push_back(dy);
    const std::vector<Tensor> got = fusion::run(*program.gradient({true}, {true}, recorded->kept), given);
    const std::vector<Tensor> wanted = fusion::run(*program.gradient({true}, {true}, {}), std::vector{a, dy});
    EXPECT_EQ(values<double>(got[0]), values<double>(wanted[0])) << one.name;
  }
}

}  // namespace
}  // namespace lamella::testing
