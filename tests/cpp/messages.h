#pragma once

#include <gtest/gtest.h>

#include <string>

namespace lamella::test {

/// Returns the message of the E that `run` throws; the test fails if it throws none.
template <class E, class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Succeeds if `text` contains `part`, and shows both if not.
inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

}  // namespace lamella::test
