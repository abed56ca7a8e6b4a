#pragma once

namespace lamella {

/// Base of operators that are not elementwise in their implementation but are to callers: they take `out=`.
struct NumberByNumber {
  static constexpr bool kNumberByNumber = true;
};

}  // namespace lamella
