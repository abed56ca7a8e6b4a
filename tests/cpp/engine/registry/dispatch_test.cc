#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/layers/function.h"
#include "engine/registry/checks.h"
#include "engine/registry/library.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/messages.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using registry::Arg;
using registry::CallContext;
using registry::KernelFunction;
using registry::Value;
using test::contains;
using test::message_of;

/// Returns a library whose registrations end with the test.
Library fragment() { return Library(Library::Kind::Fragment, "dispatch_test"); }

OperatorHandle find(const char* name, const char* overload = "") {
  return Dispatcher::singleton().find_schema_or_throw(std::string("dispatch_test::") + name, overload);
}

Tensor doubled(const Tensor& x) { return 2 * x; }

TEST(Dispatch, CallsTheKernelOfTheDevice) {
  Library m = fragment();
  m.def("where(Tensor x) -> int");
  m.impl("where", DispatchKey::CPU, [](const Tensor&) { return std::int64_t{1}; });
  m.impl("where", DispatchKey::Meta, [](const Tensor&) { return std::int64_t{2}; });
  const auto op = find("where").typed<std::int64_t(const Tensor&)>();
  EXPECT_EQ(op.call(empty({2})), 1);
  EXPECT_EQ(op.call(empty({2}, DType::Float32, kMeta)), 2);
}

TEST(Dispatch, SaysWhichKernelsThereAre) {
  Library m = fragment();
  m.def("only_cpu(Tensor x) -> Tensor");
  m.impl("only_cpu", DispatchKey::CPU, doubled);
  const auto op = find("only_cpu").typed<Tensor(const Tensor&)>();
  const std::string what = message_of<NotImplementedError>([&] { op.call(empty({2}, DType::Float32, kMeta)); });
  EXPECT_TRUE(contains(what, "dispatch_test::only_cpu") && contains(what, "meta") &&
              contains(what, "it has kernels for CPU"))
      << what;
}

TEST(Dispatch, RefusesTensorsOnSeveralDevices) {
  Library m = fragment();
  m.def("both(Tensor a, Tensor[] bs) -> int");
  m.impl("both", DispatchKey::Meta, [](const Tensor&, std::span<const Tensor>) { return std::int64_t{2}; });
  const auto op = find("both").typed<std::int64_t(const Tensor&, const std::vector<Tensor>&)>();
  const Tensor meta = empty({2}, DType::Float32, kMeta);
  const std::string what = message_of<RuntimeError>([&] { op.call(meta, {meta, empty({2})}); });
  EXPECT_TRUE(contains(what, "'a' on meta") && contains(what, "'bs' on cpu")) << what;
  EXPECT_EQ(op.call(meta, {empty(Dims{})}), 2);  // passes a number beside the tensors
}

TEST(Dispatch, FactoriesGoByTheirDeviceArgument) {
  Library m = fragment();
  m.def("make(int n, *, Device? device=None) -> int");
  m.impl("make", DispatchKey::CPU, [](std::int64_t n, std::optional<Device>) { return n; });
  m.impl("make", DispatchKey::Meta, [](std::int64_t n, std::optional<Device>) { return -n; });
  const auto op = find("make").typed<std::int64_t(std::int64_t, std::optional<Device>)>();
  EXPECT_EQ(op.call(3, std::nullopt), 3);
  EXPECT_EQ(op.call(3, kMeta), -3);
}

TEST(Dispatch, TypedCallsConvertEverything) {
  Library m = fragment();
  m.def(
      "all(Tensor x, Tensor? y, Tensor[] zs, int i, float f, bool b, str s, Scalar c, dtype d, int[] is, int[2] two, "
      "float[] fs, bool[] bs, str[] ss, int? n, Tensor?[] os) -> (Tensor, int, str, float[], Tensor?)");
  m.impl("all", DispatchKey::CPU,
         [](Tensor x, const std::optional<Tensor>& y, std::vector<Tensor> zs, std::int64_t i, double f, bool b,
            std::string_view s, const Scalar& c, DType d, const Dims& is, std::array<std::int64_t, 2> two,
            std::span<const double> fs, std::span<const bool> bs, std::vector<std::string> ss,
            std::optional<std::int64_t> n, const std::vector<std::optional<Tensor>>& os) {
           const auto total = i + static_cast<std::int64_t>(f) + b + c.to<std::int64_t>() + static_cast<int>(d) +
                              is[0] + two[1] + static_cast<std::int64_t>(fs[0]) + bs[1] +
                              static_cast<std::int64_t>(ss[0].size()) + n.value_or(1000) +
                              static_cast<std::int64_t>(zs.size()) + os[0].has_value() + y.has_value();
           return std::tuple(x, total, std::string(s) + "!", std::vector<double>(fs.begin(), fs.end()),
                             std::optional<Tensor>());
         });
  const auto op = find("all")
                      .typed<std::tuple<Tensor, std::int64_t, std::string, std::vector<double>, std::optional<Tensor>>(
                          const Tensor&, const std::optional<Tensor>&, const std::vector<Tensor>&, std::int64_t, double,
                          bool, std::string_view, Scalar, DType, DimsView, std::array<std::int64_t, 2>,
                          const std::vector<double>&, std::span<const bool>, std::span<const std::string_view>,
                          std::optional<std::int64_t>, const std::vector<Tensor>&)>();
  const Tensor x = empty({2});
  const std::array<bool, 2> truths{false, true};
  const std::array<std::string_view, 1> texts{"four"};
  const Dims sizes{7};
  const auto [y, total, text, numbers, none] =
      op.call(x, std::nullopt, {x, x}, 1, 2.5, true, "text", Scalar(3), DType::Bool, sizes, {1, 2}, {5.0}, truths,
              texts, std::nullopt, {Tensor(), x});
  EXPECT_TRUE(y.same(x));
  EXPECT_EQ(total, 1 + 2 + 1 + 3 + 0 + 7 + 2 + 5 + 1 + 4 + 1000 + 2 + 0 + 0);
  EXPECT_EQ(text, "text!");
  EXPECT_EQ(numbers, std::vector<double>{5.0});
  EXPECT_FALSE(none.has_value());
}

TEST(Dispatch, TypedHandlesAreChecked) {
  Library m = fragment();
  m.def("typed(Tensor x, int n) -> Tensor");
  const OperatorHandle op = find("typed");
  EXPECT_TRUE(contains(message_of<TypeError>([&] { op.typed<Tensor(const Tensor&, double)>(); }), "('n') is int"));
  EXPECT_TRUE(contains(message_of<TypeError>([&] { op.typed<Tensor(const Tensor&)>(); }), "the function takes 1"));
  EXPECT_TRUE(contains(message_of<TypeError>([&] { op.typed<double(const Tensor&, std::int64_t)>(); }), "result 0"));
}

TEST(Dispatch, BoxedCallsCheckAndFillIn) {
  Library m = fragment();
  m.def("boxed(Tensor x, float f=2.0, int[2] s=1) -> float", DispatchKey::CPU,
        [](const Tensor&, double f, std::array<std::int64_t, 2> s) { return f * static_cast<double>(s[0] + s[1]); });
  const OperatorHandle op = find("boxed");
  const Value x(empty({2}));
  EXPECT_EQ(op.call_boxed(std::vector<Value>{x})[0].number(), 4.0);
  EXPECT_EQ(op.call_boxed(std::vector<Value>{x, 3})[0].number(), 6.0);  // an int is accepted for a float
  EXPECT_TRUE(contains(message_of<TypeError>([&] { op.call_boxed(std::vector<Value>{x, "a"}); }), "f: expected float"));
  EXPECT_TRUE(contains(message_of<TypeError>([&] { op.call_boxed(std::vector<Value>{}); }), "missing argument 'x'"));
  EXPECT_THROW(op.call_boxed(std::vector<Value>{x, 1, std::vector<std::int64_t>{1, 2}, 4}), TypeError);
}

TEST(Dispatch, AutogradRunsAbove) {
  struct Scale : Function<Scale> {
    static Tensor forward(Context&, const Tensor& x) {
      const AutoDispatchBelowAutograd below;
      return find("scaled").typed<Tensor(const Tensor&)>().call(x);
    }
    static Tensor backward(Context&, const Tensor& dy) { return 2 * dy; }
  };
  Library m = fragment();
  m.def("scaled(Tensor x) -> Tensor");
  m.impl("scaled", DispatchKey::CPU, doubled);
  m.impl("scaled", DispatchKey::Autograd, [](const Tensor& x) { return Scale::apply(x); });
  const auto op = find("scaled").typed<Tensor(const Tensor&)>();
  const Tensor x = tensor_of<float>({1, 2});
  x.set_requires_grad(true);
  const Tensor y = op.call(x);
  EXPECT_EQ(values<float>(y), (std::vector<float>{2, 4}));
  autograd::backward(sum(y));
  EXPECT_EQ(values<float>(x.grad()), (std::vector<float>{2, 2}));
  const Tensor below = op.redispatch(kAfterAutogradKeys, x.detach());
  EXPECT_FALSE(below.requires_grad());
}

TEST(Dispatch, RedispatchPassesTheKeysOn) {
  Library m = fragment();
  m.def("keys(Tensor x) -> Tensor");
  m.impl("keys", DispatchKey::CPU, doubled);
  m.impl("keys", DispatchKey::AutogradCPU, [](DispatchKeySet keys, const Tensor& x) {
    EXPECT_TRUE(keys.has(DispatchKey::CPU));
    EXPECT_FALSE(keys.has(DispatchKey::AutogradCPU));
    return find("keys").typed<Tensor(const Tensor&)>().redispatch(keys & kAfterAutogradKeys, x);
  });
  EXPECT_EQ(values<float>(find("keys").typed<Tensor(const Tensor&)>().call(tensor_of<float>({3}))),
            std::vector<float>{6});
}

TEST(Dispatch, WithoutAGradientBackwardSaysWhatToRegister) {
  Library m = fragment();
  m.def("plain(Tensor x) -> (Tensor, int)");
  m.impl("plain", DispatchKey::CPU, [](const Tensor& x) { return std::tuple(2 * x.detach(), std::int64_t{5}); });
  const auto op = find("plain").typed<std::tuple<Tensor, std::int64_t>(const Tensor&)>();
  const Tensor x = tensor_of<float>({1, 2});
  EXPECT_FALSE(std::get<0>(op.call(x)).requires_grad());
  x.set_requires_grad(true);
  const auto [y, five] = op.call(x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(five, 5);
  EXPECT_EQ(y.grad_fn()->name(), "dispatch_test::plain");
  const std::string what = message_of<NotImplementedError>([&] { autograd::backward(sum(y)); });
  EXPECT_TRUE(contains(what, "no gradient is registered for dispatch_test::plain")) << what;
  const autograd::NoGrad off;
  EXPECT_FALSE(std::get<0>(op.call(x)).requires_grad());
}

TEST(Dispatch, KernelsOfOperatorsAreFollowedWithoutAGradient) {
  Library m = fragment();
  m.def("followed(Tensor x) -> Tensor");
  m.impl("followed", DispatchKey::CPU, [](const Tensor& x) { return 2 * x; });
  const Tensor x = tensor_of<float>({1, 2});
  x.set_requires_grad(true);
  autograd::backward(sum(find("followed").typed<Tensor(const Tensor&)>().call(x)));
  EXPECT_EQ(values<float>(x.grad()), (std::vector<float>{2, 2}));
}

TEST(Dispatch, CompositesAndFallthroughAreRecordedAsTheyAre) {
  Library m = fragment();
  m.def("implicit(Tensor x) -> Tensor", doubled);
  m.def("through(Tensor x) -> Tensor");
  m.impl("through", DispatchKey::CPU, doubled);
  m.impl("through", DispatchKey::Autograd, KernelFunction::fallthrough());
  for (const char* name : {"implicit", "through"}) {
    const Tensor x = tensor_of<float>({1, 2});
    x.set_requires_grad(true);
    autograd::backward(sum(find(name).typed<Tensor(const Tensor&)>().call(x)));
    EXPECT_EQ(values<float>(x.grad()), (std::vector<float>{2, 2})) << name;
  }
}

TEST(Dispatch, FallbacksServeEveryOperator) {
  Library m = fragment();
  m.def("nowhere(Tensor x) -> Tensor");
  const auto op = find("nowhere").typed<Tensor(const Tensor&)>();
  const Tensor x = empty({2}, DType::Float32, kMeta);
  {
    Library fallbacks(Library::Kind::Impl, "_", DispatchKey::Meta);
    fallbacks.fallback(
        KernelFunction::boxed([](const CallContext& context, std::span<const Arg> args, std::span<Value> results) {
          EXPECT_EQ(context.op.name(), "dispatch_test::nowhere");
          results[0] = *args[0].tensors;
        }));
    EXPECT_TRUE(op.call(x).same(x));
  }
  EXPECT_THROW(op.call(x), NotImplementedError);
}

TEST(Dispatch, CountsWritesAndReturnsTheArgument) {
  Library m = fragment();
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)");
  m.impl("twice_", DispatchKey::CPU, [](Tensor& x) -> Tensor& {
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 2;
    return x;
  });
  const auto op = find("twice_").typed<Tensor&(Tensor&)>();
  Tensor x = tensor_of<float>({1, 2});
  const auto version = x.version();
  EXPECT_EQ(&op.call(x), &x);
  EXPECT_EQ(x.version(), version + 1);
  EXPECT_EQ(values<float>(x), (std::vector<float>{2, 4}));

  Tensor fixed = tensor_of<float>({1});
  fixed->storage->set_mark(Storage::kReadOnly);
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { op.call(fixed); }), "'x' is written to, and its memory is read-only"));

  x.set_requires_grad(true);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { op.call(x); }), "leaf"));
  EXPECT_EQ(values<float>(x.detach()), (std::vector<float>{2, 4}));  // refused before it was written
  Tensor y = 1 * x;
  op.call(y);
  EXPECT_THROW(autograd::backward(sum(y)), NotImplementedError);
}

TEST(Dispatch, UndefinedResultsAndArgumentsAreNamed) {
  Library m = fragment();
  m.def("forgets(Tensor x) -> (Tensor, Tensor second)");
  m.impl("forgets", DispatchKey::CPU, [](const Tensor& x) { return std::tuple(x, Tensor()); });
  const auto op = find("forgets").typed<std::tuple<Tensor, Tensor>(const Tensor&)>();
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { op.call(empty({2})); }), "result 1 ('second') undefined"));
  EXPECT_THROW(op.call(Tensor()), ValueError);
}

TEST(Dispatch, AliasChecksFindUndeclaredAliases) {
  struct On {
    On() { registry::set_alias_checks(true); }
    ~On() { registry::set_alias_checks(false); }
  } const on;
  Library m = fragment();
  m.def("same(Tensor x) -> Tensor");
  m.def("pair(Tensor x) -> (Tensor, Tensor)");
  m.def("declared(Tensor(a) x) -> Tensor(a)");
  m.def("other_(Tensor(a!) x) -> Tensor(a!)");
  const auto self = [](const Tensor& x) { return x; };
  m.impl("same", DispatchKey::CPU, self);
  m.impl("declared", DispatchKey::CPU, self);
  m.impl("other_", DispatchKey::CPU, doubled);
  m.impl("pair", DispatchKey::CPU, [](const Tensor& x) {
    const Tensor y = 2 * x;
    return std::tuple(y, y);
  });
  const Tensor x = tensor_of<float>({1});
  const auto call = [&](const char* name) { return find(name).call_boxed(std::vector<Value>{x}); };
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { call("same"); }), "shares the memory of the argument 'x'"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { call("pair"); }), "share their memory"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { call("other_"); }), "is not the argument 'x'"));
  EXPECT_NO_THROW(call("declared"));
}

TEST(Dispatch, AKernelThatCallsItselfIsAnError) {
  Library m = fragment();
  m.def("loop(Tensor x) -> Tensor");
  m.impl("loop", DispatchKey::CPU, [](const Tensor& x) { return find("loop").typed<Tensor(const Tensor&)>().call(x); });
  const auto op = find("loop").typed<Tensor(const Tensor&)>();
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { op.call(empty({1})); }), "a kernel calls itself"));
  EXPECT_THROW(op.call(empty({1})), RuntimeError);  // the recursion count is restored
}

TEST(Dispatch, OperatorsOfTheLibraryAreEntries) {
  const auto all = Dispatcher::singleton().operators("lamella");
  // `index` and `set_index_` stand for x[items], which has no function of its own.
  EXPECT_EQ(all.size(), static_cast<std::size_t>(AllOps::size) + 2);
  const auto op =
      Dispatcher::singleton().find_schema_or_throw("lamella::matmul").typed<Tensor(const Tensor&, const Tensor&)>();
  EXPECT_EQ(values<float>(op.call(tensor_of<float>({1, 2}), tensor_of<float>({3, 4}))), std::vector<float>{11});
  EXPECT_EQ(Dispatcher::singleton().find_schema_or_throw("lamella::sum").schema().str(),
            "lamella::sum(Tensor x, int[1]? axis=None, bool keepdims=False, *, dtype? dtype=None) -> Tensor");
}

TEST(Dispatch, ThreadsMayCallWhileOthersRegister) {
  Library m = fragment();
  m.def("stable(Tensor x) -> Tensor");
  m.impl("stable", DispatchKey::CPU, doubled);
  const auto op = find("stable").typed<Tensor(const Tensor&)>();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Tensor x = tensor_of<float>({1});
      while (!stop) {
        if (values<float>(op.call(x))[0] != 2) ++wrong;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    Library other = fragment();
    other.def("passing(Tensor x) -> Tensor", doubled);
    other.impl("stable", DispatchKey::Meta, doubled);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lamella::testing
