// Registers every operator of AllOps under its name, such as lamella::matmul, when the namespace is first looked up.

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/registry/convert.h"
#include "engine/registry/library.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/index/index_operators.h"
#include "ops/nn/spatial.h"
#include "ops/operand.h"
#include "ops/registration/all_ops.h"
#include "ops/support/parameter_text.h"

namespace lamella {

namespace registry {

template <>
struct Converter<Operand> {
  static constexpr Type type{.base = Type::Base::TensorOrScalar};
  static Operand from_arg(const Arg& arg) {
    if (arg.kind == Arg::Kind::Tensor) return Converter<Tensor>::from_arg(arg);
    return Converter<Scalar>::from_arg(arg);
  }
};

/// Converts "same", "valid" or sizes.
template <>
struct Converter<Padding> {
  static constexpr Type type{.base = Type::Base::StrOrInts};
  static Padding from_arg(const Arg& arg) {
    if (arg.kind != Arg::Kind::Str) return Padding(Converter<Dims>::from_arg(arg));
    if (arg.str() != "same" && arg.str() != "valid") {
      fail<ValueError>("padding is 'same', 'valid', a number or one for each spatial axis, not '", arg.str(), "'");
    }
    Padding padding;
    padding.same = arg.str() == "same";
    return padding;
  }
};

/// Converts the number of a diagonal.
template <>
struct Converter<DiagonalNumber> {
  static constexpr Type type{.base = Type::Base::Int};
  static DiagonalNumber from_arg(const Arg& arg) { return Converter<std::int64_t>::from_arg(arg); }
};

/// Converts a list of sizes.
template <>
struct Converter<OutputSize> {
  static constexpr Type type = list_of(Type::Base::Int);
  static OutputSize from_arg(const Arg& arg) { return Converter<Dims>::from_arg(arg); }
};

/// Converts a number of parts, or a list of numbers.
template <>
struct Converter<Cuts> {
  static constexpr Type type{.base = Type::Base::IntOrInts};
  static Cuts from_arg(const Arg& arg) {
    if (arg.kind == Arg::Kind::Int) return Converter<std::int64_t>::from_arg(arg);
    return Converter<Dims>::from_arg(arg);
  }
};

/// Converts a list of tensors; numbers are passed as 0-d tensors.
template <>
struct Converter<std::vector<HeldOperand>> {
  static constexpr Type type = list_of(Type::Base::Tensor);
  static std::vector<HeldOperand> from_arg(const Arg& arg) {
    std::vector<HeldOperand> operands;
    for (Tensor& x : Converter<std::vector<Tensor>>::from_arg(arg)) {
      if (!x.defined()) fail<ValueError>("a list of operands holds tensors and numbers, not None");
      operands.emplace_back(std::move(x));
    }
    return operands;
  }
};

/// Converts an interval.
template <>
struct Converter<std::pair<double, double>> {
  static constexpr Type type = list_of(Type::Base::Float, 2);
  static std::pair<double, double> from_arg(const Arg& arg) {
    const auto [low, high] = Converter<std::array<double, 2>>::from_arg(arg);
    return {low, high};
  }
};

}  // namespace registry

namespace {

using registry::Arg;
using registry::CallContext;
using registry::Type;
using registry::Value;

/// Returns a default value in the notation of schemas.
std::string default_text(std::string_view value, const Type& type) {
  if (type.list && value == "()") return "[]";
  return std::string(value);
}

/// Returns the schema's arguments, from a parameter list as in a `def` and the parameter types of `call`.
std::string argument_text(std::string_view parameters, std::span<const Type> types, bool in_place) {
  std::string text;
  std::size_t next = 0;
  while (!parameters.empty()) {
    std::string_view parameter = take_parameter(parameters);
    if (parameter == "/") continue;
    if (!text.empty()) text += ", ";
    if (parameter == "*") {
      text += "*";
      continue;
    }
    const bool variadic = parameter[0] == '*';
    if (variadic) parameter.remove_prefix(1);
    const std::size_t equals = parameter.find('=');
    const Type& type = types[next++];
    text += in_place && next == 1 ? "Tensor(a!)" : type.str();
    text += " " + std::string(trimmed(parameter.substr(0, equals)));
    if (equals != std::string_view::npos && parameter.substr(equals + 1) != "...") {
      text += "=" + default_text(parameter.substr(equals + 1), type);
    }
    if (variadic && !parameters.empty()) text += ", *";
  }
  return text;
}

/// Lets built-in operators take a single number in place of a list.
constexpr Type alone_or_listed(Type type) {
  const bool numbers = type.base == Type::Base::Int || type.base == Type::Base::Float;
  if (type.list && numbers && type.list_size == 0) type.list_size = 1;
  return type;
}

/// The call wrapper for functions of one type. Operators with the same function type share it; compiling it per
/// operator takes several times as long.
template <class F, bool kNamesResults>
struct CallOf;

template <class R, class... A, bool kNamesResults>
struct CallOf<R (*)(A...), kNamesResults> {
  static constexpr std::array<Type, sizeof...(A)> types{
      alone_or_listed(registry::Converter<std::remove_cvref_t<A>>::type)...};
  static constexpr bool kGivesTensor = std::is_same_v<R, Tensor>;

  static void call(const void* functor, const CallContext&, const Arg* args, Value* results) {
    const auto function = *static_cast<R (*const*)(A...)>(functor);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::tuple<decltype(registry::Converter<std::remove_cvref_t<A>>::from_arg(args[I]))...> made{
          registry::Converter<std::remove_cvref_t<A>>::from_arg(args[I])...};
      auto result = function(
          registry::detail::pass<A>(std::forward<std::tuple_element_t<I, decltype(made)>>(std::get<I>(made)))...);
      if constexpr (kNamesResults) {
        std::size_t k = 0;
        for (Tensor& y : result) results[k++] = std::move(y);
      } else if constexpr (kGivesTensor) {
        results[0] = std::move(result);
      } else {
        results[0] = std::vector<Tensor>(result.begin(), result.end());
      }
    }(std::index_sequence_for<A...>{});
  }
};

/// The registration data of an operator.
struct Entry {
  const OpInfo* info;
  std::string_view parameters;
  std::span<const Type> types;
  /// Names of the results, or empty.
  std::span<const char* const> fields;
  bool gives_tensor;
  bool asks_device;
  void (*call)(const void*, const CallContext&, const Arg*, Value*);
  /// Pointer to the operator's function, in the form that `call` takes.
  const void* function;
};

template <class Op>
constexpr auto kFunction = &Op::call;

template <class Op>
constexpr Entry entry_of() {
  constexpr bool kNamesResults = requires { Op::kFields; };
  using Call = CallOf<decltype(&Op::call), kNamesResults>;
  Entry entry{.info = &Op::info,
              .parameters = parameters_of<Op>(),
              .types = Call::types,
              .fields = {},
              .gives_tensor = Call::kGivesTensor,
              .asks_device = IsElementwise<Op> || Op::info.asks_device,
              .call = Call::call,
              .function = &kFunction<Op>};
  if constexpr (kNamesResults) entry.fields = Op::kFields;
  return entry;
}

constexpr auto kEntries = [] {
  std::array<Entry, AllOps::size> entries{};
  std::size_t i = 0;
  AllOps::for_each([&]<class Op> { entries[i++] = entry_of<Op>(); });
  return entries;
}();

std::string schema(const Entry& entry) {
  const std::string_view name = entry.info->name;
  const bool in_place = name.ends_with('_');
  std::string text = std::string(name) + "(" + argument_text(entry.parameters, entry.types, in_place) + ") -> ";
  if (!entry.fields.empty()) {
    std::string results;
    for (const char* field : entry.fields) results += (results.empty() ? "Tensor " : ", Tensor ") + std::string(field);
    return text + "(" + results + ")";
  }
  if (!entry.gives_tensor) return text + "Tensor[]";
  return text + (in_place ? "Tensor(a!)" : "Tensor");
}

void define_all() {
  const registry::Place place("ops/registration/all_ops.h", 1);
  static auto* const library = new Library(Library::Kind::Fragment, "lamella", DispatchKey::Undefined, place);
  for (const Entry& entry : kEntries) {
    auto kernel = registry::KernelFunction::boxed(entry.call, const_cast<void*>(entry.function), nullptr);
    if (entry.asks_device) kernel.set_asks_devices();
    library->define(schema(entry), std::move(kernel), DispatchKey::CompositeImplicitAutograd, place);
    library->doc(entry.info->name, entry.info->doc);
  }
  define_index_operators(*library);
}

[[maybe_unused]] const bool provided = [] {
  Dispatcher::singleton().register_provider("lamella", define_all);
  return true;
}();

}  // namespace
}  // namespace lamella
