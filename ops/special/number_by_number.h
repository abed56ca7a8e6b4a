#pragma once

namespace lamella {

/// Base of what is no elementwise operator by its code, and is one to callers: it takes `out=`.
struct NumberByNumber {
  static constexpr bool kNumberByNumber = true;
};

}  // namespace lamella
