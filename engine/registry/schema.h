#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/registry/type.h"
#include "engine/registry/value.h"

namespace lamella {

/// The arguments and results of an operator, read from a text such as
///
/// "ns::name.overload(Tensor self, Tensor(a!) out, int[2] stride=1, *, float eps=1e-5) -> (Tensor, Tensor values)"
///
/// Types: Tensor, int (SymInt), float, bool, str, Scalar, dtype (ScalarType), Device, Generator, each followed by `?`
/// if None is allowed, `[]` for a list, `[n]` for a list of n, for which a single value may stand (`[1]`: for a list of
/// any length). `Tensor(a)` marks an alias, `Tensor(a!)` one that is written to; the same letter on a result says that
/// it shares that argument's memory.
class Schema {
 public:
  struct Alias {
    /// Alias set: "a", "b"; "*" for any.
    std::string set;
    bool write = false;

    friend bool operator==(const Alias&, const Alias&) = default;
  };
  struct Argument {
    std::string name;
    registry::Type type;
    std::optional<registry::Value> default_value;
    bool keyword_only = false;
    std::optional<Alias> alias;

    bool is_written() const { return alias && alias->write; }
    friend bool operator==(const Argument&, const Argument&) = default;
  };
  struct Result {
    /// Name of the result; may be empty.
    std::string name;
    registry::Type type;
    std::optional<Alias> alias;

    friend bool operator==(const Result&, const Result&) = default;
  };

  /// Reads a text (schema_parser.cc). ValueError with the text and a caret under the character where it is wrong.
  static Schema parse(std::string_view text);
  /// Reads a constant of the type, in the notation of defaults, that begins at position `at` of the text, which is
  /// moved behind it. ValueError as for parse().
  static registry::Value parse_value(std::string_view text, const registry::Type& type, std::size_t& at);

  /// "ns::name", or "name" if the text had no namespace.
  std::string name;
  /// The part after the point; usually empty.
  std::string overload;
  std::vector<Argument> arguments;
  std::vector<Result> results;

  /// Returns "ns::name.overload".
  std::string full_name() const;
  /// Returns the canonical text, which parse() reads as the same schema.
  std::string str() const;
  /// Returns the position of the argument of that name, or nothing.
  std::optional<std::size_t> find(std::string_view argument) const;
  /// True if the operator writes into one of its arguments.
  bool is_mutable() const;
  /// Returns the argument that result `k` is, or shares memory with; nothing if it is a new tensor.
  std::optional<std::size_t> aliased_argument(std::size_t k) const;

  friend bool operator==(const Schema&, const Schema&) = default;
};

}  // namespace lamella
