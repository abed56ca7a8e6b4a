#include "engine/registry/library.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/registry/load.h"
#include "engine/registry/pending.h"
#include "ops/elementwise/arithmetic.h"
#include "tests/cpp/messages.h"
#include "tests/cpp/tensors.h"

// Registers as an extension does.
LAMELLA_LIBRARY(static_test, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.doc("twice", "Two times x.");
}
LAMELLA_LIBRARY_FRAGMENT(static_test, m) {
  m.def("inferred", [](const lamella::Tensor& x, double f) { return f * x; });
}
LAMELLA_LIBRARY_IMPL(static_test, CPU, m) {
  m.impl("twice", [](const lamella::Tensor& x) { return 2 * x; });
}

namespace lamella::testing {
namespace {

using registry::Place;
using test::contains;
using test::message_of;

Library fragment() { return Library(Library::Kind::Fragment, "library_test"); }

Tensor identity(const Tensor& x) { return x; }
Tensor another(const Tensor& x) { return x + x; }

TEST(StaticLibrary, IsThereWhenTheProgramStarts) {
  const OperatorHandle op = Dispatcher::singleton().find_schema_or_throw("static_test::twice");
  EXPECT_EQ(op.doc(), "Two times x.");
  EXPECT_TRUE(contains(op.place().str(), "library_test.cc:"));
  ASSERT_EQ(op.kernels().size(), 1u);
  EXPECT_EQ(op.kernels()[0].key, DispatchKey::CPU);
  EXPECT_TRUE(op.has_kernel(DispatchKey::CPU));
  EXPECT_FALSE(op.has_kernel(DispatchKey::CUDA));
  EXPECT_EQ(values<float>(op.typed<Tensor(const Tensor&)>().call(tensor_of<float>({2}))), std::vector<float>{4});
  EXPECT_EQ(Dispatcher::singleton().find_schema_or_throw("static_test::inferred").schema().str(),
            "static_test::inferred(Tensor _0, float _1) -> Tensor");
}

TEST(Library, TheSameTwiceIsFineAndAnotherIsNot) {
  Library first = fragment();
  first.define("op(Tensor x) -> Tensor", Place("a.cc", 1));
  first.implement("op", DispatchKey::CPU, identity, Place("a.cc", 2));
  {
    Library again = fragment();
    again.define("op( Tensor x ) -> (Tensor)", Place("b.cc", 1));
    again.implement("op", DispatchKey::CPU, identity, Place("b.cc", 2));
    const std::string schema =
        message_of<RuntimeError>([&] { again.define("op(Tensor y) -> Tensor", Place("b.cc", 2)); });
    EXPECT_TRUE(contains(schema, "a.cc:1") && contains(schema, "b.cc:2")) << schema;
    const std::string kernel =
        message_of<RuntimeError>([&] { again.implement("op", DispatchKey::CPU, another, Place("b.cc", 3)); });
    EXPECT_TRUE(contains(kernel, "a.cc:2") && contains(kernel, "b.cc:3")) << kernel;
  }
  const auto op = Dispatcher::singleton().find_schema_or_throw("library_test::op");
  EXPECT_EQ(op.kernels().size(), 1u);  // the first library's kernel remains
}

TEST(Library, OfAKernelThatIsBuiltAnewTheLastOneCounts) {
  Library first = fragment();
  first.define("anew(Tensor x) -> Tensor", Place("a.cc", 1));
  first.implement("anew", DispatchKey::CPU, identity, Place("a.cc", 2));
  const auto op = Dispatcher::singleton().find_schema_or_throw("library_test::anew").typed<Tensor(const Tensor&)>();
  const Tensor x = empty({1});
  {
    Library again = fragment();
    again.define("anew(Tensor x) -> Tensor", Place("a.cc", 1));
    again.implement("anew", DispatchKey::CPU, another, Place("a.cc", 2));
    EXPECT_FALSE(op.call(x).same(x));
  }
  EXPECT_TRUE(op.call(x).same(x));
}

TEST(Library, GoesWithWhatItRegistered) {
  std::optional<Library> library(fragment());
  library->def("gone(Tensor x) -> Tensor", identity);
  const auto op = Dispatcher::singleton().find_schema_or_throw("library_test::gone").typed<Tensor(const Tensor&)>();
  EXPECT_NO_THROW(op.call(empty({1})));
  library.reset();
  EXPECT_FALSE(op.is_defined());
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { op.call(empty({1})); }), "not registered any more"));
  EXPECT_FALSE(Dispatcher::singleton().find_schema("library_test::gone").has_value());
  library.emplace(fragment());
  library->def("gone(Tensor x) -> Tensor", identity);
  EXPECT_NO_THROW(op.call(empty({1})));  // the handle finds the new definition
}

TEST(Library, KernelsMayComeBeforeTheirOperator) {
  Library kernels(Library::Kind::Impl, "library_test", DispatchKey::CPU);
  kernels.impl("late", identity);
  EXPECT_FALSE(Dispatcher::singleton().find_schema("library_test::late").has_value());
  Library schemas = fragment();
  const std::string what = message_of<TypeError>([&] { schemas.def("late(int x) -> Tensor"); });
  EXPECT_TRUE(contains(what, "is int in the schema, the function takes Tensor")) << what;
  schemas.def("late(Tensor x) -> Tensor");
  EXPECT_TRUE(Dispatcher::singleton().find_schema("library_test::late").has_value());
}

TEST(Library, SignaturesAreComparedWithTheSchema) {
  Library m = fragment();
  m.def("checked(Tensor x, Tensor? y, int[2] s, *, float f) -> (Tensor, int)");
  using Pair = std::tuple<Tensor, std::int64_t>;
  const auto refuse = [&](auto kernel, const char* message) {
    const std::string what = message_of<TypeError>([&] { m.impl("checked", DispatchKey::CPU, kernel); });
    EXPECT_TRUE(contains(what, message) && contains(what, "library_test.cc:")) << what;
  };
  refuse([](const Tensor& x) { return x; }, "takes 1 arguments (Tensor), the schema has 4");
  refuse([](const Tensor& x, const Tensor&, std::vector<std::int64_t>, double) { return Pair(x, 1); },
         "argument 1 ('y') is Tensor? in the schema, the function takes Tensor");
  refuse([](const Tensor& x, std::optional<Tensor>, std::int64_t, double) { return Pair(x, 1); },
         "argument 2 ('s') is int[2] in the schema, the function takes int");
  refuse([](const Tensor& x, std::optional<Tensor>, std::array<std::int64_t, 3>, double) { return Pair(x, 1); },
         "the function takes int[3]");
  refuse([](const Tensor& x, std::optional<Tensor>, std::array<std::int64_t, 2>, double) { return x; },
         "the schema has 2 results");
  refuse([](const Tensor& x, std::optional<Tensor>, std::array<std::int64_t, 2>, double) { return std::tuple(x, x); },
         "result 1 is int in the schema, the function returns Tensor");
  m.impl("checked", DispatchKey::CPU,
         [](const Tensor& x, std::optional<Tensor>, std::array<std::int64_t, 2>, double) { return Pair(x, 1); });
}

TEST(Library, MisusesAreErrors) {
  EXPECT_THROW(Library(Library::Kind::Fragment, "not a name"), ValueError);
  EXPECT_THROW(Library(Library::Kind::Fragment, "_"), ValueError);
  Library m = fragment();
  EXPECT_TRUE(contains(message_of<ValueError>([&] { m.def("name_alone"); }), "needs a schema"));
  EXPECT_TRUE(
      contains(message_of<ValueError>([&] { m.def("other::op(Tensor x) -> Tensor"); }), "not in the library's"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { m.doc("unknown", "text"); }), "defined before"));
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([&] { m.fallback(registry::KernelFunction::fallthrough()); }), "(_, key"));
  Library impl(Library::Kind::Impl, "library_test", DispatchKey::CPU);
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { impl.def("x(Tensor x) -> Tensor"); }), "LAMELLA_LIBRARY_IMPL"));
  Library fallbacks(Library::Kind::Impl, "_", DispatchKey::CPU);
  EXPECT_TRUE(contains(message_of<TypeError>([&] { fallbacks.fallback(identity); }), "boxed"));
  EXPECT_THROW(parse_dispatch_key("TPU"), ValueError);

  Library owner(Library::Kind::Def, "library_test_owned", DispatchKey::Undefined, Place("a.cc", 1));
  const std::string what = message_of<RuntimeError>(
      [&] { Library(Library::Kind::Def, "library_test_owned", DispatchKey::Undefined, Place("b.cc", 2)); });
  EXPECT_TRUE(contains(what, "a.cc:1") && contains(what, "b.cc:2")) << what;
}

TEST(Library, OverloadsAreFoundByName) {
  Library m = fragment();
  m.def("over(Tensor x) -> Tensor");
  m.def("over.number(float x) -> float");
  Dispatcher& dispatcher = Dispatcher::singleton();
  EXPECT_EQ(dispatcher.overloads("library_test::over").size(), 2u);
  EXPECT_EQ(dispatcher.find_schema_or_throw("library_test::over", "number"),
            dispatcher.find_schema_or_throw("library_test::over.number"));
  const std::string what =
      message_of<RuntimeError>([&] { dispatcher.find_schema_or_throw("library_test::over", "numbr"); });
  EXPECT_TRUE(contains(what, "its overloads are \"\", \"number\"")) << what;
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { dispatcher.find_schema_or_throw("library_test::ovre"); }),
                       "did you mean library_test::over?"));
  EXPECT_TRUE(contains(message_of<RuntimeError>([&] { dispatcher.find_schema_or_throw("over"); }), "namespace"));
}

/// Registers what a broken static library does, within a program.
void fill_badly(Library& m) {
  m.def("first(Tensor x) -> Tensor");
  m.def("second(Tensr x) -> Tensor");
}

TEST(StaticLibrary, ABadOneIsTakenBackAndToldOf) {
  {
    const registry::StaticLibrary bad(Library::Kind::Fragment, "library_test_bad", DispatchKey::Undefined, fill_badly,
                                      registry::abi_stamp);
    EXPECT_FALSE(Dispatcher::singleton().find_schema("library_test_bad::first").has_value());
    const std::string what =
        message_of<RuntimeError>([] { Dispatcher::singleton().find_schema_or_throw("library_test_bad::first"); });
    EXPECT_TRUE(contains(what, "could not register itself") && contains(what, "Tensr")) << what;
  }
  EXPECT_THROW(registry::throw_pending_error(), ValueError);
  EXPECT_NO_THROW(registry::throw_pending_error());  // raised once only
}

TEST(StaticLibrary, OneOfAnotherVersionRegistersNothing) {
  registry::AbiStamp other = registry::abi_stamp;
  ++other.abi_version;
  const registry::StaticLibrary bad(
      Library::Kind::Fragment, "library_test_bad", DispatchKey::Undefined,
      [](Library&) { ADD_FAILURE() << "code of another version ran"; }, other);
  const std::string what = message_of<RuntimeError>([] { registry::throw_pending_error(); });
  EXPECT_TRUE(contains(what, "ABI version")) << what;
}

TEST(LoadLibrary, SaysWhatIsWrongWithTheFile) {
  EXPECT_TRUE(
      contains(message_of<RuntimeError>([] { registry::load_library("/no/such/file.so"); }), "/no/such/file.so"));
  EXPECT_THROW(registry::load_library(__FILE__), RuntimeError);
}

}  // namespace
}  // namespace lamella::testing
