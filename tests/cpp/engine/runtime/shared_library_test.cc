#include "engine/runtime/shared_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/core/error.h"

namespace lamella {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SharedLibrary, LoadsTheFirstFileThatIsThere) {
  const SharedLibrary library({.needed = "roots need libm", .files = {"", "/no/libm.so", "libm.so.6"}});
  double (*root)(double) = nullptr;
  library.find("sqrt", root);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root(9.0), 3.0);
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  const std::string text =
      message_of([] { SharedLibrary({.needed = "roots need libm", .files = {"/no/a.so", "/no/b.so"}}); });
  EXPECT_TRUE(text.starts_with("roots need libm, which does not load: /no/a.so")) << text;
  EXPECT_NE(text.find("; /no/b.so"), std::string::npos) << text;
  const SharedLibrary library({.needed = "roots need libm", .files = {"libm.so.6"}});
  void (*none)() = nullptr;
  EXPECT_EQ(message_of([&] { library.find("no_such_root", none); }),
            "roots need libm, and libm.so.6 is of another version: it has no no_such_root");
}

TEST(SharedLibrary, TakesTheFileOfAVariableAlone) {
  constexpr const char* kVariable = "LAMELLA_TEST_LIBRARY";
  setenv(kVariable, "/no/c.so", 1);
  const SharedLibrary::Place place{.needed = "roots need libm", .files = {"libm.so.6"}, .variable = kVariable};
  const std::string text = message_of([&] { SharedLibrary{place}; });
  EXPECT_TRUE(text.starts_with("roots need libm, and the file that LAMELLA_TEST_LIBRARY names does not load: /no/c.so"))
      << text;
  unsetenv(kVariable);
  EXPECT_EQ(message_of([&] { SharedLibrary{place}; }), "no error");
}

}  // namespace
}  // namespace lamella
