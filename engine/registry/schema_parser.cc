#include <algorithm>
#include <array>
#include <charconv>
#include <complex>
#include <limits>
#include <utility>

#include "engine/core/error.h"
#include "engine/registry/dtype_numbers.h"
#include "engine/registry/schema.h"
#include "engine/registry/text_cursor.h"

namespace lamella {
namespace {

using registry::Type;
using registry::Value;

constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxResults = 32;

constexpr std::array<std::pair<std::string_view, Type::Base>, 16> kTypes{{
    {"Tensor", Type::Base::Tensor},
    {"int", Type::Base::Int},
    {"SymInt", Type::Base::Int},
    {"Layout", Type::Base::Int},
    {"MemoryFormat", Type::Base::Int},
    {"float", Type::Base::Float},
    {"bool", Type::Base::Bool},
    {"str", Type::Base::Str},
    {"Scalar", Type::Base::Scalar},
    {"dtype", Type::Base::DType},
    {"ScalarType", Type::Base::DType},
    {"Device", Type::Base::Device},
    {"Generator", Type::Base::Generator},
    {"Tensor|Scalar", Type::Base::TensorOrScalar},
    {"str|int[]", Type::Base::StrOrInts},
    {"int|int[]", Type::Base::IntOrInts},
}};

/// PyTorch's other names of dtypes.
constexpr std::array<std::pair<std::string_view, DType>, 7> kDTypeAliases{{
    {"float", DType::Float32},
    {"double", DType::Float64},
    {"half", DType::Float16},
    {"short", DType::Int16},
    {"int", DType::Int32},
    {"long", DType::Int64},
    {"cfloat", DType::Complex64},
}};

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses a schema from left to right.
class Parser : registry::TextCursor {
 public:
  explicit Parser(std::string_view text) : TextCursor(text) {}

  Schema parse() {
    Schema schema;
    read_name(schema);
    expect("(", "the arguments in parentheses");
    read_arguments(schema);
    expect("->", "'->' and the results; '-> ()' for none");
    read_results(schema);
    skip_space();
    if (at_ != text_.size()) fail_at(at_, "expected the end of the schema");
    check_aliases(schema);
    return schema;
  }

  /// Reads a value that begins at `at`, which is moved behind it.
  Value parse_value(const Type& type, std::size_t& at) {
    at_ = at;
    Value value = read_default(type);
    at = at_;
    return value;
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const {
    // Joined to one line, so that the caret is under the character.
    std::string line(text_);
    std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    fail<ValueError>("[schema] ", what, "\n  ", line, "\n  ", std::string(at, ' '), "^");
  }

  void expect(std::string_view token, const std::string& what) {
    if (!take(token)) fail_at(at_, "expected " + what);
  }
  std::string read_word(const char* what) {
    skip_space();
    const std::size_t start = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    }
    if (at_ == start) fail_at(at_, std::string("expected ") + what);
    return std::string(text_.substr(start, at_ - start));
  }

  void read_name(Schema& schema) {
    schema.name = read_word("the operator's name");
    while (text_.substr(at_).starts_with("::")) {
      at_ += 2;
      schema.name += "::" + read_word("a name after '::'");
    }
    if (text_.substr(at_).starts_with(".")) {
      ++at_;
      schema.overload = read_word("the overload's name after '.'");
    }
  }

  void read_arguments(Schema& schema) {
    bool keyword_only = false;
    bool defaults = false;
    if (take(")")) return;
    do {
      skip_space();
      const std::size_t start = at_;
      if (take("*")) {
        if (keyword_only) fail_at(start, "there is a '*' already");
        if (!sees(",")) fail_at(at_, "expected ',' and keyword-only arguments after '*'");
        keyword_only = true;
        continue;
      }
      if (sees("...")) fail_at(start, "a schema has a fixed number of arguments; take a list, such as Tensor[]");
      Schema::Argument argument;
      argument.keyword_only = keyword_only;
      argument.type = read_type(argument.alias);
      skip_space();
      const std::size_t name_at = at_;
      argument.name = read_word("the argument's name after its type");
      if (schema.find(argument.name)) fail_at(name_at, "there is an argument '" + argument.name + "' already");
      if (take("=")) {
        argument.default_value = read_default(argument.type);
        defaults |= !keyword_only;
      } else if (defaults && !keyword_only && !argument.type.list) {
        // As in PyTorch, a list may follow: callers name what they leave out.
        fail_at(name_at, "'" + argument.name + "' needs a default: an argument before it has one");
      }
      if (schema.arguments.size() == kMaxArguments) fail_at(start, "an operator has at most 64 arguments");
      schema.arguments.push_back(std::move(argument));
    } while (take(","));
    expect(")", "',' or ')'");
  }

  void read_results(Schema& schema) {
    if (!take("(")) {
      Schema::Result result;
      result.type = read_type(result.alias);
      skip_space();
      if (at_ < text_.size() && is_letter(text_[at_])) result.name = read_word("the result's name");
      schema.results.push_back(std::move(result));
      return;
    }
    if (take(")")) return;
    do {
      skip_space();
      if (schema.results.size() == kMaxResults) fail_at(at_, "an operator has at most 32 results");
      Schema::Result result;
      result.type = read_type(result.alias);
      if (!sees(",") && !sees(")")) result.name = read_word("the result's name, ',' or ')'");
      schema.results.push_back(std::move(result));
    } while (take(","));
    expect(")", "',' or ')'");
  }

  Type read_type(std::optional<Schema::Alias>& alias) {
    skip_space();
    const std::size_t start = at_;
    std::string word = read_word("a type");
    if (take("|")) {
      word += "|" + read_word("a type after '|'");
      if (word == "str|int" || word == "int|int") {
        expect("[]", "'[]'");
        word += "[]";
      }
    }
    const auto known =
        std::ranges::find(kTypes, std::string_view(word), &std::pair<std::string_view, Type::Base>::first);
    if (known == kTypes.end()) {
      fail_at(start, "there is no type '" + word +
                         "'; the types are Tensor, int, float, bool, str, Scalar, dtype, Device and Generator");
    }
    Type type{.base = known->second};
    if (take("(")) alias = read_alias(type, start);
    read_suffixes(type);
    return type;
  }

  Schema::Alias read_alias(const Type& type, std::size_t start) {
    if (type.base != Type::Base::Tensor) fail_at(start, "only a Tensor can be an alias");
    Schema::Alias alias;
    alias.set = take("*") ? "*" : read_word("the alias's letter");
    alias.write = take("!");
    if (take("->")) {
      // In "(a -> *)", the alias set after the call is ignored.
      if (!take("*")) read_word("the alias's letter");
    }
    expect(")", "')' after the alias");
    return alias;
  }

  void read_suffixes(Type& type) {
    while (true) {
      skip_space();
      const std::size_t start = at_;
      if (take("?")) {
        if (type.optional) fail_at(start, "it is optional already");
        type.optional = true;
      } else if (take("[")) {
        if (type.list) fail_at(start, "a list of lists is no type of schemas");
        if (type.base == Type::Base::StrOrInts || type.base == Type::Base::IntOrInts ||
            type.base == Type::Base::TensorOrScalar || type.base == Type::Base::DType ||
            type.base == Type::Base::Device || type.base == Type::Base::Scalar || type.base == Type::Base::Generator) {
          fail_at(start, "there are lists of Tensor, int, float, bool and str only");
        }
        if (type.optional && type.base != Type::Base::Tensor) {
          fail_at(start, "the elements of a list can be None in Tensor?[] only");
        }
        type.list = true;
        type.optional_elements = std::exchange(type.optional, false);
        if (!sees("]")) type.list_size = read_list_size();
        expect("]", "']'");
      } else {
        return;
      }
    }
  }

  std::uint32_t read_list_size() {
    skip_space();
    std::uint32_t size = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
    if (read.ec != std::errc() || size == 0 || size > 64) fail_at(at_, "expected ']' or a length from 1 to 64");
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return size;
  }

  Value read_default(const Type& type) {
    skip_space();
    const std::size_t start = at_;
    if (sees("None")) {
      read_word("a default");
      if (!type.optional) fail_at(start, "None is no value of " + type.str() + "; write " + type.str() + "?");
      return {};
    }
    if ((type.base == Type::Base::StrOrInts || type.base == Type::Base::IntOrInts) && sees("["))
      return read_default(registry::list_of(Type::Base::Int));
    if (!type.list) return read_single(type, start);
    std::vector<Value> values;
    if (take("[")) {
      if (!take("]")) {
        do {
          skip_space();
          values.push_back(read_single(type, at_));
        } while (take(","));
        expect("]", "',' or ']'");
      }
    } else {
      if (!type.list_size) fail_at(start, "expected a list, such as [1, 2]");
      values.assign(type.list_size, read_single(type, start));
    }
    return list_value(type, values, start);
  }

  Value list_value(const Type& type, const std::vector<Value>& values, std::size_t start) const {
    const auto collect = [&]<class T>(T (*of)(const Value&)) {
      std::vector<T> list;
      list.reserve(values.size());
      for (const Value& value : values) list.push_back(of(value));
      return list;
    };
    switch (type.base) {
      case Type::Base::Int:
        return collect(+[](const Value& value) { return value.integer(); });
      case Type::Base::Float:
        return collect(+[](const Value& value) { return value.number(); });
      case Type::Base::Bool:
        return collect(+[](const Value& value) { return value.truth(); });
      case Type::Base::Str:
        return collect(+[](const Value& value) { return std::string(value.text()); });
      default:
        if (!values.empty()) fail_at(start, "a list of tensors has no default but [] and None");
        return std::vector<Tensor>();
    }
  }

  /// Reads one value of the type, or of its element type.
  Value read_single(const Type& type, std::size_t start) {
    switch (type.base) {
      case Type::Base::Int:
      case Type::Base::IntOrInts: {
        if (at_ < text_.size() && is_letter(text_[at_])) return read_named_number(start);
        const Value number = read_number(start);
        if (number.kind() != Value::Kind::Int) fail_at(start, "expected an int as the default of " + type.str());
        return number;
      }
      case Type::Base::Float:
        return read_number(start).number();
      case Type::Base::Bool:
        if (at_ < text_.size() && is_digit(text_[at_])) return read_number(start).number() != 0;
        return read_truth(start);
      case Type::Base::Str:
        return read_text(start);
      case Type::Base::Scalar:
      case Type::Base::TensorOrScalar:
        if (sees("True") || sees("False")) return read_truth(start).scalar();
        if (sees("(")) return read_complex();
        return read_number(start).scalar();
      case Type::Base::DType:
        return read_dtype(start);
      case Type::Base::Device:
        return sees("\"") || sees("'") ? Value(Device::parse(read_text(start).text()))
                                       : Value(Device::parse(read_word("a device")));
      case Type::Base::StrOrInts:
        return sees("\"") || sees("'") ? read_text(start)
                                       : Value(std::vector<std::int64_t>{read_number(start).integer()});
      default:
        fail_at(start, "a " + type.str() + " has no default but None; write " + type.str() + "?");
    }
  }

  Value read_truth(std::size_t start) {
    const std::string word = read_word("True or False");
    if (word == "True" || word == "true") return true;
    if (word == "False" || word == "false") return false;
    fail_at(start, "expected True or False");
  }

  Value read_number(std::size_t start) {
    const std::string_view rest = text_.substr(at_);
    for (const auto& [word, value] : {std::pair{"inf", std::numeric_limits<double>::infinity()},
                                      std::pair{"-inf", -std::numeric_limits<double>::infinity()},
                                      std::pair{"nan", std::numeric_limits<double>::quiet_NaN()}}) {
      if (take(word)) return value;
    }
    const char* const end = text_.data() + text_.size();
    const char* const begin = end - rest.size();
    std::int64_t integer = 0;
    double number = 0;
    const auto as_integer = std::from_chars(begin, end, integer);
    const auto as_number = std::from_chars(begin, end, number);
    if (as_number.ec != std::errc()) {
      fail_at(start,
              as_number.ec == std::errc::result_out_of_range ? "the number is out of range" : "expected a number");
    }
    at_ = static_cast<std::size_t>(as_number.ptr - text_.data());
    if (as_integer.ptr != as_number.ptr) return number;
    if (as_integer.ec == std::errc()) return integer;
    std::uint64_t large = 0;
    if (std::from_chars(begin, end, large).ec != std::errc()) fail_at(start, "the integer is out of range");
    return Scalar(large);
  }

  /// Reads "(1.5, -2)".
  Value read_complex() {
    expect("(", "'('");
    skip_space();
    const double real = read_number(at_).number();
    expect(",", "',' and the imaginary part");
    skip_space();
    const double imaginary = read_number(at_).number();
    expect(")", "')'");
    return Scalar(std::complex<double>(real, imaginary));
  }

  Value read_text(std::size_t start) {
    const char quote = sees("\"") ? '"' : '\'';
    if (!take(std::string_view(&quote, 1))) fail_at(start, "expected a text in quotes");
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      value += c;
    }
    if (at_ == text_.size()) fail_at(start, "the text is not closed");
    ++at_;
    return value;
  }

  /// Reads a truth, or the name of a layout or memory format, which are numbers in PyTorch.
  Value read_named_number(std::size_t start) {
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kNames{{
        {"False", 0},
        {"True", 1},
        {"strided", 0},
        {"contiguous_format", 0},
        {"preserve_format", 1},
        {"channels_last", 2},
        {"channels_last_3d", 3},
    }};
    const std::string word = read_word("a number");
    for (const auto& [name, number] : kNames) {
      if (name == word) return number;
    }
    fail_at(start, "expected a number");
  }

  Value read_dtype(std::size_t start) {
    if (at_ < text_.size() && is_digit(text_[at_])) {
      const Value number = read_number(start);
      const auto dtype = number.kind() == Value::Kind::Int ? registry::dtype_of_number(number.integer()) : std::nullopt;
      if (!dtype) fail_at(start, "there is no dtype of this number");
      return *dtype;
    }
    const std::string word = read_word("a dtype");
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      if (kDTypeNames[i] == word) return static_cast<DType>(i);
    }
    for (const auto& [name, dtype] : kDTypeAliases) {
      if (name == word) return dtype;
    }
    fail_at(start, "there is no dtype '" + word + "'");
  }

  void check_aliases(const Schema& schema) const {
    for (std::size_t k = 0; k < schema.results.size(); ++k) {
      const auto& alias = schema.results[k].alias;
      if (!alias || alias->set == "*") continue;
      const auto argument = schema.aliased_argument(k);
      if (!argument) {
        fail_at(text_.rfind("(" + alias->set) + 1, "no argument has the alias '" + alias->set + "'");
      }
      if (alias->write && !schema.arguments[*argument].is_written()) {
        fail_at(text_.rfind("(" + alias->set) + 1, "the argument '" + schema.arguments[*argument].name +
                                                       "' is not marked as written to: write (" + alias->set +
                                                       "!) there too");
      }
    }
  }
};

}  // namespace

Schema Schema::parse(std::string_view text) { return Parser(text).parse(); }

registry::Value Schema::parse_value(std::string_view text, const registry::Type& type, std::size_t& at) {
  return Parser(text).parse_value(type, at);
}

}  // namespace lamella
