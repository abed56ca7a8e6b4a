#pragma once

#include <functional>
#include <string>

// Texts and exceptions for the authors of operators.

namespace lamella::user_op::detail {

/// The source position of a registration.
struct SourcePlace {
  std::string file;
  unsigned line = 0;
};

/// Returns a text such as "file:12".
std::string str(const SourcePlace& place);
/// Returns "'a', 'b'", or "none".
template <class Range, class Name>
std::string quoted(const Range& range, Name&& name) {
  std::string text;
  for (const auto& each : range) text += (text.empty() ? "'" : ", '") + std::string(name(each)) + "'";
  return text.empty() ? "none" : text;
}

/// Calls a function of an operator's author, and prefixes its exceptions with the operator's name.
void run_authors(const std::string& where, const std::function<void()>& function);

}  // namespace lamella::user_op::detail
