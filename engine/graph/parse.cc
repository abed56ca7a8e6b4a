// Reads the text form; see Note [Text form] in text.cc.

#include <charconv>

#include "engine/core/error.h"
#include "engine/graph/graph.h"
#include "engine/registry/dispatcher.h"
#include "engine/registry/schema.h"
#include "engine/registry/text_cursor.h"

namespace lamella::graph {
namespace {

bool is_name_end(char c) { return std::string_view(" \t:,()[]=#\"").find(c) != std::string_view::npos; }

/// Reads the text form from left to right, line by line.
class Reader : registry::TextCursor {
 public:
  Reader(std::string_view text, const std::unordered_map<std::string, Tensor>& captured,
         const std::unordered_map<std::string, GraphFunction>& functions)
      : rest_(text), captured_(captured), functions_(functions) {}

  Graph read() {
    if (!next_line()) fail<ValueError>("[graph] the text is empty");
    located([&] {
      expect("graph ");
      graph_.name = read_quoted();
      end_line();
    });
    while (next_line()) located([&] { read_line(); });
    graph_.set_no_grad(false);
    graph_.verify();
    return std::move(graph_);
  }

 private:
  struct Definition {
    bool none = false;
    std::string name;
    ValueType type;
    /// True if the value differs from its kind in whether gradients flow through it.
    bool marked = false;
  };

  /// Adds the line's number and text to the message of an error.
  template <class F>
  void located(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      fail<ValueError>("[graph] line ", number_, ": ", error.what(), "\n  ", text_);
    }
  }

  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      text_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      at_ = 0;
      skip_space();
      if (at_ < text_.size() && text_[at_] != '#') return true;
    }
    return false;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail<ValueError>("expected '", token, "' at column ", at_ + 1);
  }
  void end_line() {
    skip_space();
    if (at_ != text_.size()) fail<ValueError>("expected the end of the line at column ", at_ + 1);
  }
  std::string read_word(const char* what) {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && !is_name_end(text_[at_])) ++at_;
    if (at_ == start) fail<ValueError>("expected ", what, " at column ", at_ + 1);
    return std::string(text_.substr(start, at_ - start));
  }
  registry::Value read_constant(const registry::Type& type) {
    skip_space();
    return Schema::parse_value(text_, type, at_);
  }
  std::string read_quoted() { return std::string(read_constant({.base = registry::Type::Base::Str}).text()); }

  std::string read_name() {
    expect("%");
    return sees("\"") ? read_quoted() : read_word("a name");
  }
  ValueId read_reference() {
    if (take("None")) return kNoValue;
    const std::string name = read_name();
    if (const auto id = graph_.find(name)) return *id;
    fail<ValueError>("there is no value '", name, "' before this line");
  }
  std::vector<ValueId> read_references() {
    std::vector<ValueId> ids;
    expect("[");
    if (take("]")) return ids;
    do ids.push_back(read_reference());
    while (take(","));
    expect("]");
    return ids;
  }

  ValueType read_type() {
    ValueType type;
    const std::string dtype = read_word("a dtype");
    std::size_t i = 0;
    while (i < kDTypeCount && kDTypeNames[i] != dtype) ++i;
    if (i == kDTypeCount) fail<ValueError>("there is no dtype '", dtype, "'");
    type.dtype = static_cast<DType>(i);
    const registry::Value sizes = read_constant(registry::list_of(registry::Type::Base::Int));
    for (const std::int64_t size : sizes.integers()) {
      if (size < kUnknown) fail<ValueError>("a size is at least 0, or -1, not ", size);
      type.shape.push_back(size);
    }
    return type;
  }
  Definition read_definition(std::string_view mark = "stop") {
    Definition definition;
    if (take("None")) {
      definition.none = true;
      return definition;
    }
    definition.name = read_name();
    expect(":");
    definition.type = read_type();
    definition.marked = take(mark);
    return definition;
  }

  void read_line() {
    if (take("input ")) return read_input();
    if (take("captured ")) return read_captured();
    std::vector<Definition> results;
    std::vector<std::int64_t> sizes;
    if (sees("%") || sees("[") || sees("None")) {
      do read_results(results, sizes);
      while (take(","));
      expect("=");
    }
    read_call(results, std::move(sizes));
  }

  void read_input() {
    const Definition definition = read_definition("grad");
    if (definition.none) fail<ValueError>("an input has a name");
    const ValueId id = graph_.add_input(definition.name, definition.type);
    graph_.set_stop_gradient(id, !definition.marked);
    end_line();
  }

  void read_captured() {
    const Definition definition = read_definition();
    const auto found = captured_.find(definition.name);
    if (found == captured_.end()) fail<ValueError>("no tensor was given for '", definition.name, "'");
    if (!definition.type.admits(found->second)) {
      fail<ValueError>("'", definition.name, "' is ", definition.type.str(), ", the tensor that was given is ",
                       lamella::describe(found->second));
    }
    if (graph_.find(definition.name)) fail<ValueError>("there is a value named '", definition.name, "' already");
    // A tensor under two names has two values: an alias stands for it the second time.
    const bool known = graph_.find_captured(found->second).has_value();
    const ValueId id = graph_.add_captured(known ? found->second.detach() : found->second, definition.name);
    graph_.set_stop_gradient(id, definition.marked);
    end_line();
  }

  void read_results(std::vector<Definition>& results, std::vector<std::int64_t>& sizes) {
    if (!take("[")) {
      results.push_back(read_definition());
      sizes.push_back(-1);
      return;
    }
    sizes.push_back(0);
    if (take("]")) return;
    do {
      results.push_back(read_definition());
      ++sizes.back();
    } while (take(","));
    expect("]");
  }

  void read_call(std::vector<Definition>& results, std::vector<std::int64_t> sizes) {
    std::vector<ValueType> types;
    types.reserve(results.size());
    for (const Definition& result : results) types.push_back(result.type);
    const GraphNode* node = nullptr;
    graph_.set_no_grad(take("no_grad "));
    if (take("function ")) {
      node = &read_function(std::move(types));
    } else if (take("gradients(")) {
      std::vector<ValueId> targets = read_references();
      expect(",");
      std::vector<ValueId> inputs = read_references();
      expect(",");
      std::vector<ValueId> begin = read_references();
      expect(")");
      node = &graph_.add_gradients(std::move(targets), std::move(inputs), std::move(begin), read_where());
    } else {
      node = &read_operator(std::move(types), std::move(sizes));
    }
    name_results(*node, results);
  }

  void name_results(const GraphNode& node, const std::vector<Definition>& results) {
    if (node.results.size() != results.size())
      fail<ValueError>("the call has ", node.results.size(), " results, the line names ", results.size());
    const std::vector<ValueId> ids = node.results;
    // Frees the names that were chosen for the results, which may be those of others in the text.
    for (const ValueId id : ids) {
      if (id != kNoValue) graph_.rename(id, "\n" + std::to_string(id));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if ((ids[i] == kNoValue) != results[i].none) fail<ValueError>("result ", i, " is None in one of the two");
      if (ids[i] == kNoValue) continue;
      if (graph_.value(ids[i]).type != results[i].type) {
        fail<ValueError>("'", results[i].name, "' is ", graph_.value(ids[i]).type.str(), ", not ",
                         results[i].type.str());
      }
      graph_.rename(ids[i], results[i].name);
      graph_.set_stop_gradient(ids[i], results[i].marked);
    }
  }

  const GraphNode& read_function(std::vector<ValueType> types) {
    const std::string name = read_quoted();
    const bool pure = take("pure");
    expect("(");
    std::vector<ValueId> inputs = read_references();
    expect(")");
    const auto found = functions_.find(name);
    if (found == functions_.end()) fail<ValueError>("no function was given for '", name, "'");
    return graph_.add_function(name, found->second, std::move(inputs), std::move(types), !pure, read_where());
  }

  const GraphNode& read_operator(std::vector<ValueType> types, std::vector<std::int64_t> sizes) {
    skip_space();
    const std::size_t end = std::min(text_.find('(', at_), text_.size());
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    const auto op = Dispatcher::singleton().find_schema(name);
    if (!op) fail<ValueError>("there is no operator '", name, "'");
    const auto& wanted = op->schema().arguments;
    std::vector<std::optional<NodeArgument>> given(wanted.size());
    expect("(");
    if (!take(")")) {
      std::size_t next = 0;
      do {
        const std::size_t i = read_keyword(wanted, next);
        if (given[i]) fail<ValueError>("argument '", wanted[i].name, "' is given twice");
        given[i] = read_argument(wanted[i].type);
        next = i + 1;
      } while (take(","));
      expect(")");
    }
    std::vector<NodeArgument> arguments;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto& value = given[i];
      const auto& default_value = wanted[i].default_value;
      if (value) {
        arguments.push_back(std::move(*value));
      } else if (default_value) {
        arguments.push_back(NodeArgument::of(*default_value));
      } else {
        fail<ValueError>("argument '", wanted[i].name, "' is missing");
      }
    }
    return graph_.add_operator(*op, std::move(arguments), std::move(types), std::move(sizes), read_where());
  }

  /// Returns the position of the argument that is read next: the one that "name=" names, or the next one.
  std::size_t read_keyword(const std::vector<Schema::Argument>& wanted, std::size_t next) {
    skip_space();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (take(wanted[i].name + "=")) return i;
    }
    if (next >= wanted.size()) fail<ValueError>("there are more arguments than the operator takes: ", wanted.size());
    return next;
  }

  NodeArgument read_argument(const registry::Type& type) {
    if (sees("%")) return NodeArgument::of(read_reference());
    if (type.holds_tensors() && type.list) return NodeArgument::of(read_references());
    return NodeArgument::of(read_constant(type));
  }

  std::string read_where() {
    std::string where;
    if (take("#")) {
      skip_space();
      where = text_.substr(at_);
      at_ = text_.size();
    }
    end_line();
    return where;
  }

  std::string_view rest_;
  std::size_t number_ = 0;
  const std::unordered_map<std::string, Tensor>& captured_;
  const std::unordered_map<std::string, GraphFunction>& functions_;
  Graph graph_{""};
};

}  // namespace

Graph Graph::parse(std::string_view text, const std::unordered_map<std::string, Tensor>& captured,
                   const std::unordered_map<std::string, GraphFunction>& functions) {
  return Reader(text, captured, functions).read();
}

}  // namespace lamella::graph
