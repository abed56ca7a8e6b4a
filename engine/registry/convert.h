#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/registry/type.h"
#include "engine/registry/value.h"

namespace lamella::registry {

namespace detail {
[[noreturn, gnu::cold]] void wrong_list_size(std::size_t got, std::size_t wanted);
[[noreturn, gnu::cold]] void undefined_tensor();
[[noreturn, gnu::cold]] void wrong_value_kind(Arg::Kind wanted, Arg::Kind got);

inline void expect(const Arg& arg, Arg::Kind kind) {
  if (arg.kind != kind) [[unlikely]]
    wrong_value_kind(kind, arg.kind);
}
}  // namespace detail

/// The mapping between a C++ type and a type of schemas. Specialize it for types of your own:
///
///     static constexpr Type type;             the type in a schema
///     static X from_arg(const Arg&);          a kernel's parameter: T, or a reference to the caller's value
///     static Arg to_arg(const T&);            a caller's argument: a view of it
///     static Value to_value(T);               a kernel's result
///     static T from_value(Value&);            a caller's result
///     static H hold(const T&);                where no view of T can be taken: what to_arg takes in its place, which
///                                             lasts during the call
///
/// The first two make it a parameter of kernels; to_arg one of typed handles; the two after it are for results.
template <class T>
struct Converter {
  static constexpr bool kUnknown = true;
};

template <class T>
concept Convertible = !requires { Converter<std::remove_cvref_t<T>>::kUnknown; };

/// Returns what Converter<T>::to_arg takes: the argument of a caller itself, or what is made of it for the call.
template <class T>
decltype(auto) held_argument(const T& value) {
  if constexpr (requires { Converter<T>::hold(value); }) {
    return Converter<T>::hold(value);
  } else {
    return (value);
  }
}

template <>
struct Converter<Tensor> {
  static constexpr Type type{.base = Type::Base::Tensor};
  // Returns the caller's own handle, because kernels may take it as Tensor&.
  static Tensor& from_arg(const Arg& arg) {
    detail::expect(arg, Arg::Kind::Tensor);
    if (!arg.tensors->defined()) [[unlikely]]
      detail::undefined_tensor();
    return const_cast<Tensor&>(*arg.tensors);
  }
  static Arg to_arg(const Tensor& x) { return x; }
  static Value to_value(Tensor x) { return x; }
  static Tensor from_value(Value& value) { return value.take_tensor(); }
};

/// Types that an Arg or Value holds directly.
#define LAMELLA_PLAIN_CONVERTER(Cpp, Name, member, method)         \
  template <>                                                      \
  struct Converter<Cpp> {                                          \
    static constexpr Type type{.base = Type::Base::Name};          \
    static Cpp from_arg(const Arg& arg) {                          \
      detail::expect(arg, Arg::Kind::Name);                        \
      return arg.member;                                           \
    }                                                              \
    static Arg to_arg(const Cpp& value) { return value; }          \
    static Value to_value(Cpp value) { return value; }             \
    static Cpp from_value(Value& value) { return value.method(); } \
  };
LAMELLA_PLAIN_CONVERTER(std::int64_t, Int, integer, integer)
LAMELLA_PLAIN_CONVERTER(double, Float, number, number)
LAMELLA_PLAIN_CONVERTER(bool, Bool, truth, truth)
LAMELLA_PLAIN_CONVERTER(DType, DType, dtype, dtype)
LAMELLA_PLAIN_CONVERTER(Device, Device, device, device)
#undef LAMELLA_PLAIN_CONVERTER

template <>
struct Converter<Scalar> {
  static constexpr Type type{.base = Type::Base::Scalar};
  static const Scalar& from_arg(const Arg& arg) {
    detail::expect(arg, Arg::Kind::Scalar);
    return *arg.scalar;
  }
  static Arg to_arg(const Scalar& value) { return value; }
  static Value to_value(Scalar value) { return value; }
  static Scalar from_value(Value& value) { return value.scalar(); }
};

template <>
struct Converter<Generator*> {
  static constexpr Type type{.base = Type::Base::Generator, .optional = true};
  static Generator* from_arg(const Arg& arg) {
    if (arg.kind == Arg::Kind::None) return nullptr;
    detail::expect(arg, Arg::Kind::Generator);
    return arg.generator;
  }
  static Arg to_arg(Generator* value) { return value; }
};

template <>
struct Converter<std::string_view> {
  static constexpr Type type{.base = Type::Base::Str};
  static std::string_view from_arg(const Arg& arg) {
    detail::expect(arg, Arg::Kind::Str);
    return arg.str();
  }
  static Arg to_arg(std::string_view value) { return value; }
};
template <>
struct Converter<std::string> {
  static constexpr Type type{.base = Type::Base::Str};
  static std::string from_arg(const Arg& arg) { return std::string(Converter<std::string_view>::from_arg(arg)); }
  static Arg to_arg(const std::string& value) { return std::string_view(value); }
  static Value to_value(std::string value) { return value; }
  static std::string from_value(Value& value) { return std::string(value.text()); }
};

/// Lists: kernels get a view of the caller's list, or a copy.
template <class T, Type::Base kBase, Arg::Kind kKind, auto kOfArg, auto kOfValue>
struct ListConverterOf {
  static constexpr Type::Base base = kBase;
  static std::span<const T> view(const Arg& arg) {
    detail::expect(arg, kKind);
    return {arg.*kOfArg, arg.size};
  }
  static std::span<const T> view(const Value& value) { return (value.*kOfValue)(); }
};
template <class T>
struct ListConverter;
template <>
struct ListConverter<Tensor>
    : ListConverterOf<Tensor, Type::Base::Tensor, Arg::Kind::Tensors, &Arg::tensors, &Value::tensors> {};
template <>
struct ListConverter<std::int64_t>
    : ListConverterOf<std::int64_t, Type::Base::Int, Arg::Kind::Ints, &Arg::integers, &Value::integers> {};
template <>
struct ListConverter<double>
    : ListConverterOf<double, Type::Base::Float, Arg::Kind::Floats, &Arg::numbers, &Value::numbers> {};
template <>
struct ListConverter<bool> : ListConverterOf<bool, Type::Base::Bool, Arg::Kind::Bools, &Arg::truths, &Value::truths> {};
template <>
struct ListConverter<std::string_view>
    : ListConverterOf<std::string_view, Type::Base::Str, Arg::Kind::Strs, &Arg::texts, &Value::texts> {};

template <class T>
  requires requires { ListConverter<T>::base; }
struct Converter<std::span<const T>> {
  static constexpr Type type = list_of(ListConverter<T>::base);
  static std::span<const T> from_arg(const Arg& arg) { return ListConverter<T>::view(arg); }
  static Arg to_arg(std::span<const T> values) { return values; }
};

template <class T>
  requires requires { ListConverter<T>::base; }
struct Converter<std::vector<T>> {
  static constexpr Type type = list_of(ListConverter<T>::base);
  static std::vector<T> from_arg(const Arg& arg) {
    const auto values = ListConverter<T>::view(arg);
    return std::vector<T>(values.begin(), values.end());
  }
  static Arg to_arg(const std::vector<T>& values)
    requires(!std::is_same_v<T, bool>)
  {
    return std::span<const T>(values);
  }
  static Value to_value(std::vector<T> values)
    requires(!std::is_same_v<T, std::string_view>)
  {
    return values;
  }
  static std::vector<T> from_value(Value& value) {
    const auto values = ListConverter<T>::view(value);
    return std::vector<T>(values.begin(), values.end());
  }
};

template <>
struct Converter<std::vector<std::string>> {
  static constexpr Type type = list_of(Type::Base::Str);
  static std::vector<std::string> from_arg(const Arg& arg) {
    const auto texts = ListConverter<std::string_view>::view(arg);
    return std::vector<std::string>(texts.begin(), texts.end());
  }
  static Value to_value(std::vector<std::string> texts) { return texts; }
  static std::vector<std::string> from_value(Value& value) {
    const auto texts = value.texts();
    return std::vector<std::string>(texts.begin(), texts.end());
  }
};

template <class T, std::size_t N>
  requires requires { ListConverter<T>::base; }
struct Converter<SmallVector<T, N>> {
  static constexpr Type type = list_of(ListConverter<T>::base);
  static SmallVector<T, N> from_arg(const Arg& arg) { return SmallVector<T, N>(ListConverter<T>::view(arg)); }
  static Arg to_arg(const SmallVector<T, N>& values) { return std::span<const T>(values); }
  static Value to_value(const SmallVector<T, N>& values) { return std::vector<T>(values.begin(), values.end()); }
  static SmallVector<T, N> from_value(Value& value) { return SmallVector<T, N>(ListConverter<T>::view(value)); }
};

/// A list of fixed length, such as `int[2]`.
template <class T, std::size_t N>
  requires requires { ListConverter<T>::base; }
struct Converter<std::array<T, N>> {
  static constexpr Type type = list_of(ListConverter<T>::base, N);
  static std::array<T, N> from_arg(const Arg& arg) {
    const auto values = ListConverter<T>::view(arg);
    if (values.size() != N) detail::wrong_list_size(values.size(), N);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<T, N>{values[I]...};
    }(std::make_index_sequence<N>{});
  }
  static Arg to_arg(const std::array<T, N>& values) { return std::span<const T>(values); }
};

/// `Tensor?[]`, of which kernels and callers may also take a list of tensors with undefined elements.
template <>
struct Converter<std::vector<std::optional<Tensor>>> {
  static constexpr Type type{.base = Type::Base::Tensor, .list = true, .optional_elements = true};
  static std::vector<Tensor> hold(const std::vector<std::optional<Tensor>>& values) {
    std::vector<Tensor> made;
    made.reserve(values.size());
    for (const std::optional<Tensor>& x : values) made.push_back(x.value_or(Tensor()));
    return made;
  }
  static Arg to_arg(const std::vector<Tensor>& values) { return std::span<const Tensor>(values); }
  static std::vector<std::optional<Tensor>> from_arg(const Arg& arg) {
    std::vector<std::optional<Tensor>> values;
    for (const Tensor& x : ListConverter<Tensor>::view(arg)) {
      values.push_back(x.defined() ? std::optional(x) : std::nullopt);
    }
    return values;
  }
};

template <class T>
  requires(Convertible<T>)
struct Converter<std::optional<T>> {
  static constexpr Type type = optional_of(Converter<T>::type);
  static std::optional<T> from_arg(const Arg& arg) {
    if (arg.is_none()) return std::nullopt;
    return std::optional<T>(Converter<T>::from_arg(arg));
  }
  static auto hold(const std::optional<T>& value)
    requires requires { Converter<T>::hold(*value); }
  {
    return value ? std::optional(Converter<T>::hold(*value)) : std::nullopt;
  }
  template <class Held>
  static Arg to_arg(const std::optional<Held>& value) {
    return value ? Converter<T>::to_arg(*value) : Arg();
  }
  static Value to_value(std::optional<T> value) { return value ? Converter<T>::to_value(std::move(*value)) : Value(); }
  static std::optional<T> from_value(Value& value) {
    if (value.is_none()) return std::nullopt;
    return std::optional<T>(Converter<T>::from_value(value));
  }
};

/// The results of a kernel: nothing, a value, or a tuple of values.
template <class R>
struct Results {
  static_assert(Convertible<R>,
                "a kernel returns void, Tensor, int64_t, double, bool, std::string, vectors and optionals of these, or "
                "a tuple of them");
  static constexpr std::size_t count = 1;
  static constexpr std::array<Type, 1> types{Converter<std::remove_cvref_t<R>>::type};
  template <class Call>
  static void store(Value* results, Call&& call) {
    results[0] = Converter<std::remove_cvref_t<R>>::to_value(call());
  }
  static std::remove_cvref_t<R> load(Value* results) {
    return Converter<std::remove_cvref_t<R>>::from_value(results[0]);
  }
};
template <>
struct Results<void> {
  static constexpr std::size_t count = 0;
  static constexpr std::array<Type, 0> types{};
  template <class Call>
  static void store(Value*, Call&& call) {
    call();
  }
  static void load(Value*) {}
};
template <class... R>
struct Results<std::tuple<R...>> {
  static_assert((Convertible<R> && ...), "each part of a tuple that a kernel returns is a Tensor or a plain value");
  static constexpr std::size_t count = sizeof...(R);
  static constexpr std::array<Type, sizeof...(R)> types{Converter<std::remove_cvref_t<R>>::type...};
  template <class Call>
  static void store(Value* results, Call&& call) {
    [&]<std::size_t... I>(std::tuple<R...> values, std::index_sequence<I...>) {
      ((results[I] = Converter<std::remove_cvref_t<R>>::to_value(std::get<I>(std::move(values)))), ...);
    }(call(), std::index_sequence_for<R...>{});
  }
  static std::tuple<std::remove_cvref_t<R>...> load(Value* results) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::remove_cvref_t<R>...>{Converter<std::remove_cvref_t<R>>::from_value(results[I])...};
    }(std::index_sequence_for<R...>{});
  }
};

}  // namespace lamella::registry
