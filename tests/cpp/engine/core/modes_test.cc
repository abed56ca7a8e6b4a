#include "engine/core/modes.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "tests/cpp/engine/autograd/support.h"

namespace lamella::test {
namespace {

using autograd::EnableGrad;
using autograd::GradMode;
using autograd::is_grad_enabled;
using autograd::NoGrad;

TEST(ModesTest, ScopesNestAndRestore) {
  EXPECT_TRUE(is_grad_enabled());
  {
    const NoGrad off;
    EXPECT_FALSE(is_grad_enabled());
    {
      const EnableGrad on;
      EXPECT_TRUE(is_grad_enabled());
      const GradMode off_again(false);
      EXPECT_FALSE(is_grad_enabled());
    }
    EXPECT_FALSE(is_grad_enabled());
  }
  EXPECT_TRUE(is_grad_enabled());
}

TEST(ModesTest, AreRestoredByExceptions) {
  try {
    const NoGrad off;
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(is_grad_enabled());
  }
}

TEST(ModesTest, BelongToTheThread) {
  const NoGrad off;
  bool elsewhere = false;
  std::thread([&] { elsewhere = is_grad_enabled(); }).join();
  EXPECT_TRUE(elsewhere);
}

TEST(ModesTest, DecideWhatIsRecorded) {
  const Tensor x = leaf(2);
  {
    const NoGrad off;
    EXPECT_FALSE((x * 2).requires_grad());
    const EnableGrad on;
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(ModesTest, BackwardRunsUnderItsOwn) {
  const Tensor x = leaf(2);
  const Tensor y = x * x;
  const NoGrad off;
  autograd::backward(y);
  EXPECT_EQ(values(x.grad()), Values{4});
  EXPECT_FALSE(is_grad_enabled());
}

/// Layer whose forward leaves recording switched on.
struct SwitchesOn : Function<SwitchesOn> {
  static Tensor forward(Context&, const Tensor& x) {
    autograd::set_grad_enabled(true);
    return x * 1;
  }
  static Tensor backward(Context&, const Tensor& dy) {
    autograd::set_grad_enabled(true);
    return dy;
  }
};

TEST(ModesTest, ALayerCannotLeaveThemChanged) {
  const NoGrad off;
  SwitchesOn::apply(leaf(1));
  EXPECT_FALSE(is_grad_enabled());
  Tensor y;
  {
    const EnableGrad on;
    y = SwitchesOn::apply(leaf(1));
  }
  autograd::backward(y);
  EXPECT_FALSE(is_grad_enabled());
}

/// Layer that runs a pass inside forward.
struct SolvesInside : Function<SolvesInside> {
  static Tensor forward(Context&, const Tensor& x) {
    const EnableGrad on;
    const Tensor inner = x.detach().set_requires_grad(true);
    const Tensor slope = autograd::grad({inner * inner * inner}, {inner})[0];
    return slope.detach();
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

TEST(ModesTest, ForwardMayDifferentiateWithinItself) {
  const Tensor x = leaf(2);
  const Tensor y = SolvesInside::apply(x);
  EXPECT_EQ(values(y), Values{12});
  autograd::backward(y);
  EXPECT_EQ(values(x.grad()), Values{1});
}

}  // namespace
}  // namespace lamella::test
