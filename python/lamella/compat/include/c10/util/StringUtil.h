#pragma once

#include <string>

#include "engine/core/error.h"

namespace c10 {

/// Returns the parts as one text.
template <class... Parts>
std::string str(const Parts&... parts) {
  return lamella::str(parts...);
}

}  // namespace c10
