#include "engine/autograd/trace/anomaly.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <stdexcept>
#include <thread>

#include "engine/autograd/graph/origin.h"
#include "tests/cpp/engine/autograd/support.h"

// This test's own functions stand outside of the library's namespace, like a user's, as messages name only those.

namespace anomaly_test {

using lamella::Context;
using lamella::Tensor;

[[gnu::noinline]] Tensor take_log(const Tensor& x) {
  Tensor y = lamella::log(x);
  asm volatile("" ::: "memory");  // keeps the call from being a tail call, which would leave no frame
  return y;
}

/// Layer whose backward raises E.
template <class E>
struct Raises : lamella::Function<Raises<E>> {
  static constexpr std::string_view name = "Raises";
  static Tensor forward(Context&, const Tensor& x) { return lamella::clone(x); }
  static Tensor backward(Context&, const Tensor&) { throw E("mine"); }
};

template <class E>
[[gnu::noinline]] Tensor call_raises(const Tensor& x) {
  Tensor y = Raises<E>::apply(x);
  asm volatile("" ::: "memory");
  return y;
}

struct OwnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace anomaly_test

namespace lamella::test {
namespace {

using autograd::AnomalyChecks;
using autograd::DetectAnomaly;
using autograd::Trace;

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Removes from the message what depends on the program: offsets, and calls further out.
std::string first_call(const std::string& message) {
  return std::regex_replace(message, std::regex(R"( \(C\+\+, [^\n]*\)\n[\s\S]*)"), "");
}

TEST(AnomalyTest, NamesOperationGradientCountAndPlace) {
  const Tensor x = leaf({0.0f, 1.0f, 0.0f});
  const DetectAnomaly detect;
  const Tensor y = sum(anomaly_test::take_log(x));
  const auto message = message_of<RuntimeError>([&] { autograd::backward(y); });
  EXPECT_EQ(
      first_call(message),
      "[log] backward gave 2 infinite values of 3 (float32[3] on cpu) in the gradient of its input 0; the gradient "
      "that arrived was finite: look at the values of the forward call. The operation was\n"
      "  called in anomaly_test::take_log(lamella::Tensor const&)");
}

TEST(AnomalyTest, TellsObjectFilesAndOffsets) {
  const Tensor x = leaf({0.0f});
  const DetectAnomaly detect;
  const auto message = message_of<RuntimeError>([&] { autograd::backward(anomaly_test::take_log(x)); });
  EXPECT_TRUE(
      std::regex_search(message, std::regex(R"(take_log\(.*\) \(C\+\+, lamella_tests\+0x[0-9a-f]+\)\n  from )")))
      << message;
}

TEST(AnomalyTest, ChecksWhatItIsAskedTo) {
  const Tensor x = leaf({0.0f, 0.0f});
  {
    const DetectAnomaly detect({.nan = true, .inf = false});
    autograd::backward(sum(log(x)));
  }
  EXPECT_EQ(values(x.grad()), (Values{kInf, kInf}));
  {
    const DetectAnomaly detect({.nan = false, .inf = true});
    autograd::backward(sum(sqrt(x) * 0));  // 0 / 0
    EXPECT_THROW(autograd::backward(sum(log(x))), RuntimeError);
  }
  const DetectAnomaly detect({.nan = true, .inf = false});
  const auto message = message_of<RuntimeError>([&] { autograd::backward(sum(sqrt(x) * 0)); });
  EXPECT_TRUE(contains(message, "[sqrt] backward gave 2 NaN values of 2 (float32[2] on cpu)")) << message;
}

TEST(AnomalyTest, CountsBothKinds) {
  const Tensor x = vec({NAN, 1, kInf, -kInf});
  const auto bad = autograd::count_bad(x, {});
  EXPECT_EQ(bad.nan, 1);
  EXPECT_EQ(bad.inf, 2);
  EXPECT_EQ(autograd::describe_bad(bad, x), "1 NaN and 2 infinite values of 4 (float32[4] on cpu)");
  EXPECT_EQ(autograd::count_bad(x, {.nan = false, .inf = true}).nan, 0);
  EXPECT_EQ(autograd::count_bad(cast(vec({1}), DType::Int32), {}).nan, 0);
  EXPECT_EQ(autograd::count_bad(Tensor(), {}).inf, 0);
  EXPECT_EQ(autograd::count_bad(empty({0}), {}).inf, 0);
  EXPECT_EQ(autograd::count_bad(empty({2}, DType::Float32, Device(DeviceType::Meta)), {}).inf, 0);
}

TEST(AnomalyTest, AGradientThatArrivedBadIsToldAsSuch) {
  const Tensor x = leaf({1.0f});
  const DetectAnomaly detect;
  const Tensor y = x * 2;
  const auto message = message_of<RuntimeError>([&] { autograd::backward(y, vec({NAN})); });
  EXPECT_TRUE(
      contains(message,
               "[multiply] backward gave 1 NaN value of 1 (float32[1] on cpu) in the gradient of its input 0; the "
               "gradient of its output 0 arrived with 1 NaN value of 1 (float32[1] on cpu): look at what was given "
               "to backward, at hooks, and at sums of gradients that overflow. The operation was\n"))
      << message;
}

TEST(AnomalyTest, WithoutTheForwardPassThePlaceIsUnknown) {
  const Tensor x = leaf({0.0f});
  const Tensor y = log(x);
  const DetectAnomaly detect;
  EXPECT_EQ(
      message_of<RuntimeError>([&] { autograd::backward(y); }),
      "[log] backward gave 1 infinite value of 1 (float32[1] on cpu) in the gradient of its input 0; the gradient "
      "that arrived was finite: look at the values of the forward call. The operation was\n"
      "  its call was not written down: hold the forward pass in detect_anomaly too");
}

TEST(AnomalyTest, ResultsAreCheckedOnRequest) {
  const Tensor x = leaf({0.0f, 1.0f});
  const DetectAnomaly detect({.forward = true});
  EXPECT_EQ(first_call(message_of<RuntimeError>([&] { anomaly_test::take_log(x); })),
            "[log] forward gave 1 infinite value of 2 (float32[2] on cpu) in its output 0; look at the values it was "
            "called with\n  called in anomaly_test::take_log(lamella::Tensor const&)");
}

template <class E>
std::string noted() {
  const Tensor x = leaf({1.0f});
  const DetectAnomaly detect;
  const Tensor y = anomaly_test::call_raises<E>(x);
  try {
    autograd::backward(y);
  } catch (const E& error) {
    EXPECT_EQ(typeid(error), typeid(E));
    return error.what();
  }
  return "nothing was thrown";
}

TEST(AnomalyTest, ExceptionsKeepTheirTypeAndGetANote) {
  const std::string note = "mine\nraised in the backward of `Raises`, which was\n  called in ";
  EXPECT_TRUE(contains(noted<ValueError>(), note));
  EXPECT_TRUE(contains(noted<NotImplementedError>(), note));
  EXPECT_TRUE(contains(noted<std::domain_error>(), note));
  EXPECT_TRUE(contains(noted<std::runtime_error>(), "call_raises"));
}

TEST(AnomalyTest, AnExceptionOfTheUsersOwnGoesOnAsItIs) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(noted<anomaly_test::OwnError>(), "mine");
  EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "raised in the backward of `Raises`, which was\n"));
}

TEST(AnomalyTest, NestedPassesTellTheParent) {
  const Tensor x = leaf({0.0f});
  const DetectAnomaly detect;
  const Tensor z = pow(x, 1.5);
  const Tensor dz = autograd::grad({z}, {x}, {.create_graph = true})[0];
  const auto message = message_of<RuntimeError>([&] { autograd::backward(dz); });
  EXPECT_TRUE(contains(message, "recorded while the backward of `pow` ran, which was\n    called in ")) << message;
}

TEST(AnomalyTest, ScopesNestAndRestore) {
  EXPECT_FALSE(autograd::is_tracing());
  {
    const DetectAnomaly outer({.inf = false});
    EXPECT_TRUE(autograd::is_tracing());
    {
      const DetectAnomaly off({}, false);
      EXPECT_FALSE(autograd::detected_anomaly());
      EXPECT_FALSE(autograd::is_tracing());
      const Trace trace;
      EXPECT_TRUE(autograd::is_tracing());
    }
    EXPECT_FALSE(autograd::detected_anomaly()->checks().inf);
  }
  EXPECT_FALSE(autograd::is_tracing());
  const Trace trace;
  autograd::set_detect_anomaly(true);
  autograd::set_detect_anomaly(true);
  autograd::set_detect_anomaly(false);
  EXPECT_TRUE(autograd::is_tracing());
}

TEST(AnomalyTest, IsAMatterOfTheThread) {
  const DetectAnomaly detect;
  bool tracing = true;
  std::thread([&] { tracing = autograd::is_tracing() || autograd::detected_anomaly(); }).join();
  EXPECT_FALSE(tracing);
}

TEST(AnomalyTest, GradientsAreThoseOfAnOrdinaryPass) {
  const auto run = [] {
    const Tensor x = leaf({2.0f, 3.0f});
    autograd::backward(sum(Cube::apply(x) * x + x));
    return values(x.grad());
  };
  const Values expected = run();
  const DetectAnomaly detect;
  EXPECT_EQ(run(), expected);
}

TEST(AnomalyTest, NothingIsKept) {
  autograd::traced_nodes();
  const NoLeak no_leak;
  {
    const DetectAnomaly detect;
    const Tensor x = leaf({1.0f});
    autograd::backward(Cube::apply(x) * x.detach());
    const Tensor y = leaf({0.0f});
    EXPECT_THROW(autograd::backward(log(y)), RuntimeError);
  }
  for (int i = 0; i < 3000; ++i) {
    const Trace trace;
    const Tensor x = leaf({1.0f});
    const Tensor y = x * 2;
  }
  autograd::traced_nodes();
}

}  // namespace
}  // namespace lamella::test
