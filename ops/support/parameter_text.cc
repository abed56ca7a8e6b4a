#include "ops/support/parameter_text.h"

#include <algorithm>

namespace lamella {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view take_parameter(std::string_view& text) {
  int depth = 0;
  bool quoted = false;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) break;
  }
  const std::string_view parameter = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return parameter;
}

}  // namespace lamella
