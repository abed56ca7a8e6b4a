#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// What autocast makes of an operator's inputs of low precision and of float32; float64 stays what it is.
enum class Autocast : std::uint8_t {
  Keep,     ///< nothing: they are promoted to one dtype as ever
  Lower,    ///< they get the dtype of the scope: products of matrices and what is made of them
  Float32,  ///< they become float32: what low precision would make inexact, or overflow
};

/// What is known of an operator besides its code: the bindings, the docs, the checks against numpy and the gradient
/// checks are made from this.
struct OpInfo {
  /// An operand of an elementwise operator that is a setting rather than data.
  struct Setting {
    /// Position of the operand; -1 where there is none.
    int operand = -1;
    /// A value that tests pass.
    double sample = 0;
  };

  /// The name in C++ and in Python.
  const char* name;
  /// One or more sentences for the docs.
  const char* doc;
  /// Python parameters, as in a `def`: "x, /, *, axis=None, keepdims=False". Elementwise ops may leave it out.
  const char* parameters = nullptr;
  /// A Python expression over `lm` names that is run as a test.
  const char* example = nullptr;
  /// The same value computed by numpy (`np`) or scipy.special (`sp`) from the arguments; null where there is no such
  /// expression.
  const char* reference = nullptr;
  /// The dtypes it takes, after promotion.
  DTypeSet dtypes = AnyDType;
  /// Where the tests take their samples from, for real arguments.
  double sample_low = -3.0;
  double sample_high = 3.0;
  /// Points without a derivative, up to four, terminated by NaN: the tests keep away from them.
  double kinks[4] = {__builtin_nan(""), __builtin_nan(""), __builtin_nan(""), __builtin_nan("")};
  /// Also a method of Tensor in Python (where the first parameter is a tensor).
  bool method = true;
  /// See ops/support/autocast.h.
  Autocast autocast = Autocast::Keep;
  /// Has the form `f(.., out=y)`, as all elementwise operators have.
  bool out = false;
  /// Has the form `f_(x, ..)`, which overwrites its first argument, as the elementwise operators of numbers have.
  bool in_place = false;
  /// Asks the device of an extension for a kernel before it computes in any other way, as elementwise operators do.
  bool asks_device = false;
  /// Up to two.
  Setting settings[2] = {};
};

/// True for an operator that computes each element by itself, from those in its place.
template <class Op>
concept IsElementwise = requires { Op::kMaskInput; };

/// A list of operators.
template <class... Ops>
struct OpList {
  static constexpr int size = sizeof...(Ops);
  /// Calls f.operator()<Op>() for each.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Ops>(), ...);
  }
  /// The position of Op.
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

/// One list of the operators of several.
template <class... Lists>
using ConcatLists = typename detail::Concat<Lists...>::type;

/// Lists of operators.
template <class... Lists>
struct OperatorListsOf {
  using Joined = ConcatLists<Lists...>;
  /// Calls f.operator()<List>() for each.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Lists>(), ...);
  }
};

}  // namespace lamella
