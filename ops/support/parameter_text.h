#pragma once

#include <string_view>

// Parameter lists as in a `def`, the notation of OpInfo::parameters.

namespace lamella {

/// Returns the text without spaces at its ends.
std::string_view trimmed(std::string_view text);

/// Returns the next parameter of a list, trimmed, and removes it from `text`: up to a comma outside quotes and
/// brackets.
std::string_view take_parameter(std::string_view& text);

}  // namespace lamella
