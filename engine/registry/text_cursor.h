#pragma once

#include <cstddef>
#include <string_view>

namespace lamella::registry {

/// A place in a text that is read from left to right.
class TextCursor {
 protected:
  explicit TextCursor(std::string_view text = {}) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \n\t\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  /// Skips a token behind spaces; false if it is not there.
  bool take(std::string_view token) {
    if (!sees(token)) return false;
    at_ += token.size();
    return true;
  }
  /// True if the token comes next, behind spaces.
  bool sees(std::string_view token) {
    skip_space();
    return text_.substr(at_).starts_with(token);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace lamella::registry
