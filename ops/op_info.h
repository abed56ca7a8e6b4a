#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// Treatment by autocast of an operator's floating inputs of 16 and 32 bits; float64 inputs are never cast.
enum class Autocast : std::uint8_t {
  Keep,     ///< inputs are not cast; they are promoted to one dtype as without autocast
  Lower,    ///< inputs are cast to the scope's dtype: for matrix products and operators made of them
  Float32,  ///< inputs are cast to float32: for operators that lose accuracy or overflow in 16 bits
};

/// The description of an operator; the bindings, the docs, the checks against numpy and the gradient checks are
/// generated from it.
struct OpInfo {
  /// An operand of an elementwise operator that is a setting rather than data.
  struct Setting {
    /// Position of the operand, or -1 if the entry is unused.
    int operand = -1;
    /// A valid value of the setting, used by tests.
    double sample = 0;
  };

  /// The name in C++ and in Python.
  const char* name;
  /// One or more sentences for the docs.
  const char* doc;
  /// Python parameters, as in a `def`: "x, /, *, axis=None, keepdims=False". Elementwise operators and those of one
  /// tensor, "x, /", may leave it out.
  const char* parameters = nullptr;
  /// A Python expression over names of `lm`, run as a test. Without one it is the operator's value at
  /// `full([2], 0.5)`.
  const char* example = nullptr;
  /// A Python expression that computes the same value with numpy (`np`) or scipy.special (`sp`) from the arguments, or
  /// null.
  const char* reference = nullptr;
  /// The dtypes that the operator accepts, after promotion.
  DTypeSet dtypes = AnyDType;
  /// The range of the tests' samples for real arguments.
  double sample_low = -3.0;
  double sample_high = 3.0;
  /// Points without a derivative, up to four, terminated by NaN; the tests avoid them.
  double kinks[4] = {__builtin_nan(""), __builtin_nan(""), __builtin_nan(""), __builtin_nan("")};
  /// True if the operator is also a method of Tensor in Python; its first parameter is then a tensor.
  bool method = true;
  /// The autocast policy; see ops/support/autocast.h.
  Autocast autocast = Autocast::Keep;
  /// True if there is a form `f(.., out=y)`. Every elementwise operator has one, whatever this says.
  bool out = false;
  /// True if there is a form `f_(x, ..)` that overwrites its first argument. Every elementwise operator of numbers has
  /// one, whatever this says.
  bool in_place = false;
  /// True if an extension's device is asked for a kernel before the result is computed in any other way, as for
  /// elementwise operators.
  bool asks_device = false;
  /// The operands that are settings, up to two.
  Setting settings[2] = {};
};

namespace detail {
template <class R, class X>
constexpr bool takes_one(R (*)(X)) {
  return true;
}
constexpr bool takes_one(...) { return false; }
}  // namespace detail

/// Returns the operator's Python parameters, as in a `def`.
template <class Op>
constexpr const char* parameters_of() {
  if (Op::info.parameters) return Op::info.parameters;
  if constexpr (requires { Op::kParameters; }) {
    return Op::kParameters;
  } else {
    return detail::takes_one(&Op::call) ? "x, /" : "";
  }
}

/// True for an operator that computes each element of the result from the elements at the same position of its
/// operands.
template <class Op>
concept IsElementwise = requires { Op::kMaskInput; };

/// A compile-time list of operators.
template <class... Ops>
struct OpList {
  static constexpr int size = sizeof...(Ops);
  /// Calls f.operator()<Op>() for each operator of the list.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Ops>(), ...);
  }
  /// Returns the position of Op in the list.
  template <class Op>
  static constexpr int index_of() {
    int index = -1;
    int at = 0;
    ((std::is_same_v<Op, Ops> ? void(index = at) : void(), ++at), ...);
    return index;
  }
};

namespace detail {
template <class... Lists>
struct Concat;
template <class... A>
struct Concat<OpList<A...>> {
  using type = OpList<A...>;
};
template <class... A, class... B, class... Rest>
struct Concat<OpList<A...>, OpList<B...>, Rest...> {
  using type = typename Concat<OpList<A..., B...>, Rest...>::type;
};
}  // namespace detail

/// The concatenation of several lists of operators.
template <class... Lists>
using ConcatLists = typename detail::Concat<Lists...>::type;

/// A list of operator lists, and their concatenation.
template <class... Lists>
struct OperatorListsOf {
  using Joined = ConcatLists<Lists...>;
  /// Calls f.operator()<List>() for each list.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Lists>(), ...);
  }
};

}  // namespace lamella
