#include "engine/registry/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/core/error.h"

namespace lamella::testing {
namespace {

TEST(Schema, PrintsCanonically) {
  struct Row {
    const char* text;
    const char* canonical;
  };
  const std::vector<Row> rows{
      {"f() -> ()", "f() -> ()"},
      {"ns::f(Tensor x) -> Tensor", "ns::f(Tensor x) -> Tensor"},
      {"f( Tensor  x )->Tensor", "f(Tensor x) -> Tensor"},
      {"f(Tensor x,\n  int n) -> Tensor", "f(Tensor x, int n) -> Tensor"},
      {"f(Tensor x) -> (Tensor)", "f(Tensor x) -> Tensor"},
      {"f(Tensor x) -> (Tensor, Tensor)", "f(Tensor x) -> (Tensor, Tensor)"},
      {"f(Tensor x) -> (Tensor values, Tensor indices)", "f(Tensor x) -> (Tensor values, Tensor indices)"},
      {"f(Tensor x) -> (Tensor y)", "f(Tensor x) -> (Tensor y)"},
      {"f(Tensor x) -> Tensor[]", "f(Tensor x) -> Tensor[]"},
      {"f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"},
      {"f(Tensor(a) x) -> Tensor(a)", "f(Tensor(a) x) -> Tensor(a)"},
      {"f(Tensor(a!)[] xs) -> ()", "f(Tensor(a!)[] xs) -> ()"},
      {"f(Tensor? x=None, Tensor?[] xs=[]) -> ()", "f(Tensor? x=None, Tensor?[] xs=[]) -> ()"},
      {"f(int[2] s=1) -> ()", "f(int[2] s=[1, 1]) -> ()"},
      {"f(int[] s=[1,2, -3]) -> ()", "f(int[] s=[1, 2, -3]) -> ()"},
      {"f(int[1] s=2, int[1] t=[1, 2]) -> ()", "f(int[1] s=[2], int[1] t=[1, 2]) -> ()"},
      {"f(int[2]? s=None) -> ()", "f(int[2]? s=None) -> ()"},
      {"f(float e=1e-5) -> ()", "f(float e=1e-05) -> ()"},
      {"f(float e=2) -> ()", "f(float e=2.0) -> ()"},
      {"f(float e=-inf, float[] v=[1, 0.5]) -> ()", "f(float e=-inf, float[] v=[1.0, 0.5]) -> ()"},
      {"f(str mode='same') -> ()", "f(str mode=\"same\") -> ()"},
      {"f(str m=\"a \\\"b\\\"\") -> ()", "f(str m=\"a \\\"b\\\"\") -> ()"},
      {"f(str[] m=[\"a\", \"b\"]) -> ()", "f(str[] m=[\"a\", \"b\"]) -> ()"},
      {"f(bool b=True, bool[3] c=[True, False, True]) -> ()", "f(bool b=True, bool[3] c=[True, False, True]) -> ()"},
      {"f(Scalar a=1, Scalar b=1.5) -> ()", "f(Scalar a=1, Scalar b=1.5) -> ()"},
      {"f(SymInt n, ScalarType? dtype=None) -> ()", "f(int n, dtype? dtype=None) -> ()"},
      {"f(dtype d=float32, Device v=\"cpu\") -> ()", "f(dtype d=float32, Device v=\"cpu\") -> ()"},
      {"f(Generator? generator=None, int? n=None) -> (int, float)",
       "f(Generator? generator=None, int? n=None) -> (int, float)"},
      {"f(Tensor|Scalar x, str|int[] padding=0) -> Tensor", "f(Tensor|Scalar x, str|int[] padding=[0]) -> Tensor"},
      {"f(Tensor x, *, int n) -> Tensor?", "f(Tensor x, *, int n) -> Tensor?"},
  };
  for (const Row& row : rows) {
    const Schema schema = Schema::parse(row.text);
    EXPECT_EQ(schema.str(), row.canonical);
    EXPECT_EQ(Schema::parse(schema.str()), schema) << row.text;
  }
}

TEST(Schema, ErrorsPointAtTheCharacter) {
  struct Row {
    const char* text;
    std::size_t at;  // the position of the caret
    const char* message;
  };
  const std::vector<Row> rows{
      {"", 0, "the operator's name"},
      {"f", 1, "the arguments in parentheses"},
      {"f(Tensor x)", 11, "'-> ()' for none"},
      {"f(Tensr x) -> Tensor", 2, "no type 'Tensr'"},
      {"f(Tensor) -> Tensor", 8, "name after its type"},
      {"f(Tensor x Tensor y) -> Tensor", 11, "',' or ')'"},
      {"f(Tensor x, Tensor x) -> Tensor", 19, "'x' already"},
      {"f(Tensor x) -> Tensor extra more", 28, "the end of the schema"},
      {"f(int n=1.5) -> ()", 8, "expected an int"},
      {"f(int n=None) -> ()", 8, "write int?"},
      {"f(int n=yes) -> ()", 8, "expected a number"},
      {"f(bool b=yes) -> ()", 9, "True or False"},
      {"f(str s=abc) -> ()", 8, "in quotes"},
      {"f(str s=\"abc) -> ()", 8, "not closed"},
      {"f(int[] s=1) -> ()", 10, "expected a list"},
      {"f(int[0] s) -> ()", 6, "from 1 to 64"},
      {"f(int[][] s) -> ()", 7, "a list of lists"},
      {"f(int?[] s) -> ()", 6, "Tensor?[]"},
      {"f(int?? s) -> ()", 6, "optional already"},
      {"f(int n=99999999999999999999) -> ()", 8, "out of range"},
      {"f(Tensor x=1) -> ()", 11, "no default but None"},
      {"f(int n=1, Tensor x) -> ()", 18, "needs a default"},
      {"f(Tensor x, *) -> ()", 13, "keyword-only arguments after '*'"},
      {"f(Tensor x, *, *, int n) -> ()", 15, "'*' already"},
      {"f(Tensor x, ...) -> ()", 12, "fixed number"},
      {"f(int(a) n) -> ()", 2, "only a Tensor"},
      {"f(Tensor x) -> Tensor(a)", 22, "no argument has the alias"},
      {"f(Tensor(a) x) -> Tensor(a!)", 25, "not marked as written"},
      {"f(dtype d=float31) -> ()", 10, "no dtype 'float31'"},
      {"f(ScalarType d=8) -> ()", 15, "no dtype of this number"},
      {"f(Scalar[] s) -> ()", 8, "lists of Tensor"},
      {"f.(Tensor x) -> ()", 2, "overload's name"},
      {"1f(Tensor x) -> ()", 0, "the operator's name"},
  };
  for (const Row& row : rows) {
    try {
      Schema::parse(row.text);
      ADD_FAILURE() << "no error for " << row.text;
    } catch (const ValueError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(row.message), std::string::npos) << row.text << ": " << what;
      const std::string expected = "\n  " + std::string(row.text) + "\n  " + std::string(row.at, ' ') + "^";
      EXPECT_TRUE(what.ends_with(expected)) << what << "\nexpected" << expected;
    }
  }
}

TEST(Schema, TakesWhatPyTorchWrites) {
  const auto default_of = [](const char* text) {
    const Schema schema = Schema::parse(std::string("f(") + text + ") -> ()");
    return schema.arguments.front().default_value.value();
  };
  EXPECT_EQ(default_of("ScalarType d=6").dtype(), DType::Float32);
  EXPECT_EQ(default_of("ScalarType? d=15").dtype(), DType::BFloat16);
  EXPECT_EQ(default_of("ScalarType d=long").dtype(), DType::Int64);
  EXPECT_EQ(default_of("MemoryFormat m=channels_last").integer(), 2);
  EXPECT_EQ(default_of("Layout l=strided").integer(), 0);
  EXPECT_EQ(default_of("int n=True").integer(), 1);
  EXPECT_TRUE(default_of("bool b=1").truth());
  EXPECT_TRUE(default_of("int[2] stride=[]").integers().empty());
  EXPECT_EQ(default_of("int[2] stride=[1]").integers().size(), 1u);
  // A list may follow an argument with a default.
  EXPECT_FALSE(Schema::parse("f(Tensor? y=None, Tensor[] ts) -> ()").arguments[1].default_value);
  EXPECT_FALSE(Schema::parse("f(int n=1, int[2] s) -> ()").arguments[1].default_value);
}

TEST(Schema, KnowsItsArguments) {
  const Schema schema =
      Schema::parse("ns::f.out(Tensor x, int[2] stride=3, *, bool flag=False, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(schema.name, "ns::f");
  EXPECT_EQ(schema.overload, "out");
  EXPECT_EQ(schema.full_name(), "ns::f.out");
  EXPECT_EQ(schema.find("stride"), 1u);
  EXPECT_EQ(schema.find("strides"), std::nullopt);
  EXPECT_FALSE(schema.arguments[1].keyword_only);
  EXPECT_TRUE(schema.arguments[2].keyword_only);
  EXPECT_EQ(schema.arguments[1].default_value->integers()[1], 3);
  EXPECT_TRUE(schema.is_mutable());
  EXPECT_EQ(schema.aliased_argument(0), 3u);
}

TEST(Schema, TakesAsManyArgumentsAsItSays) {
  std::string text = "f(";
  for (int i = 0; i < 64; ++i) text += (i ? ", int a" : "int a") + std::to_string(i);
  EXPECT_EQ(Schema::parse(text + ") -> ()").arguments.size(), 64u);
  EXPECT_THROW(Schema::parse(text + ", int more) -> ()"), ValueError);
}

TEST(Value, HoldsAndCopies) {
  using registry::Value;
  Value text("a text");
  const Value copy = text;
  text = Value(std::vector<std::int64_t>{1, 2});
  EXPECT_EQ(copy.text(), "a text");
  EXPECT_EQ(text.integers().size(), 2u);
  EXPECT_EQ(Value(text.view()), text);
  EXPECT_NE(copy, text);
  EXPECT_EQ(Value(3).number(), 3.0);
  EXPECT_EQ(Value(std::vector<bool>{true, false}).truths()[0], true);
  EXPECT_EQ(Value(std::vector<std::string>{"x", "yz"}).texts()[1], "yz");
  EXPECT_THROW(static_cast<void>(copy.integer()), TypeError);
  const Tensor x = empty({2});
  Value holder(x);
  EXPECT_TRUE(holder.take_tensor().same(x));
}

}  // namespace
}  // namespace lamella::testing
