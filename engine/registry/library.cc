#include "engine/registry/library.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/core/error.h"
#include "engine/registry/entry.h"
#include "engine/registry/registry.h"

namespace lamella {

using registry::KernelFunction;
using registry::OperatorEntry;
using registry::Place;
using registry::Record;
using registry::the_registry;

struct Library::State {
  Kind kind;
  std::string ns;
  DispatchKey key;
  Place place;
  std::uint64_t id = 0;
  bool owns_namespace = false;
  /// Entries that have registrations of this library.
  std::vector<OperatorEntry*> entries;
  bool has_fallback = false;

  void note(OperatorEntry& entry) {
    if (std::ranges::find(entries, &entry) == entries.end()) entries.push_back(&entry);
  }
};

namespace {

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Returns the schema of a C++ function, whose arguments have no names.
Schema inferred_schema(std::string_view name, const registry::detail::SignatureView& signature) {
  std::string text(name);
  text += "(";
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    text += (i ? ", " : "") + signature.arguments[i].str() + " _" + std::to_string(i);
  }
  text += ") -> (";
  for (std::size_t k = 0; k < signature.results.size(); ++k) {
    text += (k ? ", " : "") + signature.results[k].str();
  }
  return Schema::parse(text + ")");
}

std::string kernel_text(const Record& record) {
  return lamella::str("the kernel for ", name(record.key), " (", record.place.str(), ")");
}

void check_kernel(const Schema& schema, const Record& record) {
  if (const auto& signature = record.function.signature()) {
    registry::detail::check_signature(schema, *signature, kernel_text(record));
  }
}

}  // namespace

Library::Library(Kind kind, std::string ns, DispatchKey key, Where where)
    : Library(kind, std::move(ns), key, Place(where)) {}

Library::Library(Kind kind, std::string ns, DispatchKey key, Place place) : state_(std::make_unique<State>()) {
  if (!is_name(ns)) fail<ValueError>("[Library] '", ns, "' is no name for a namespace of operators");
  if (ns == "_" && kind != Kind::Impl) {
    fail<ValueError>("[Library] the namespace '_' holds fallbacks; it is for libraries of the kind Impl");
  }
  state_->kind = kind;
  state_->ns = std::move(ns);
  state_->key = key;
  state_->place = std::move(place);
  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  state_->id = ++registry.last_library;
  if (kind != Kind::Def) return;
  registry.provide(state_->ns);
  auto& owners = registry.owners[state_->ns];
  if (!owners.empty() && owners.front().place != state_->place) {
    fail<RuntimeError>("[Library] the namespace '", state_->ns, "' is defined at ", owners.front().place.str(),
                       " already, and again at ", state_->place.str(),
                       "; use LAMELLA_LIBRARY_FRAGMENT to add operators to it");
  }
  owners.push_back({state_->id, state_->place, nullptr, {}});
  state_->owns_namespace = true;
}

Library::Library(Library&&) noexcept = default;

Library::~Library() { reset(); }

Library::Kind Library::kind() const noexcept { return state_->kind; }
const std::string& Library::ns() const noexcept { return state_->ns; }
DispatchKey Library::key() const noexcept { return state_->key; }

std::uint64_t Library::id() const noexcept { return state_->id; }

DispatchKey Library::default_key() const noexcept {
  return state_->key == DispatchKey::Undefined ? DispatchKey::CompositeImplicitAutograd : state_->key;
}

void Library::reset() noexcept {
  if (!state_) return;
  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  const auto is_ours = [this](const auto& each) { return each.library == state_->id; };
  for (OperatorEntry* entry : state_->entries) {
    std::erase_if(entry->definitions, is_ours);
    for (auto& all : entry->implementations) std::erase_if(all, is_ours);
    entry->update();
  }
  state_->entries.clear();
  if (state_->has_fallback) {
    for (auto& all : registry.fallbacks) std::erase_if(all, is_ours);
    registry.update_all();
    state_->has_fallback = false;
  }
  if (state_->owns_namespace) {
    std::erase_if(registry.owners[state_->ns], is_ours);
    state_->owns_namespace = false;
  }
}

namespace {

/// Returns the name qualified by the library's namespace, which the name may repeat.
std::string qualified(const std::string& ns, const std::string& name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string::npos) return ns + "::" + name;
  if (std::string_view(name).substr(0, colons) != ns || name.find("::", colons + 2) != std::string::npos) {
    fail<ValueError>("[Library] '", name, "' is not in the library's namespace '", ns, "'");
  }
  return name;
}

/// Splits "name.overload" into "name" and "overload".
std::pair<std::string, std::string> split_overload(std::string_view name) {
  const std::size_t point = name.find('.');
  if (point == std::string_view::npos) return {std::string(name), {}};
  return {std::string(name.substr(0, point)), std::string(name.substr(point + 1))};
}

}  // namespace

Library& Library::define(std::string_view schema, Place place) {
  if (schema.find('(') == std::string_view::npos) {
    fail<ValueError>("[Library] def(\"", schema, "\") needs a schema, such as \"", schema,
                     "(Tensor x) -> Tensor\", or a function to take it from");
  }
  if (state_->kind == Kind::Impl) {
    fail<RuntimeError>(
        "[Library] def() does not belong in a LAMELLA_LIBRARY_IMPL; define operators in a "
        "LAMELLA_LIBRARY or LAMELLA_LIBRARY_FRAGMENT");
  }
  Schema parsed = Schema::parse(schema);
  parsed.name = qualified(state_->ns, parsed.name);

  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  registry.provide(state_->ns);
  OperatorEntry& entry = registry.entry(parsed.name, parsed.overload);
  if (!entry.definitions.empty()) {
    const auto& other = entry.definitions.front();
    if (other.plan->schema != parsed) {
      fail<RuntimeError>("[", entry.full_name, "] is defined at ", other.place.str(), " as\n  ",
                         other.plan->schema.str(), "\nand at ", place.str(), " as\n  ", parsed.str());
    }
    entry.definitions.push_back({state_->id, std::move(place), other.plan, {}});
    state_->note(entry);
    return *this;
  }
  for (const auto& all : entry.implementations) {
    for (const auto& each : all) check_kernel(parsed, *each.record);
  }
  const registry::Plan* const plan =
      the_registry().plans.emplace_back(std::make_unique<const registry::Plan>(std::move(parsed))).get();
  entry.definitions.push_back({state_->id, std::move(place), plan, {}});
  state_->note(entry);
  entry.update();
  return *this;
}

Library& Library::define(std::string_view schema, Kernel kernel, DispatchKey key, Place place) {
  std::string name;
  if (schema.find('(') == std::string_view::npos) {
    const auto& signature = kernel.signature();
    if (!signature) {
      fail<ValueError>("[Library] def(\"", schema, "\") with a boxed kernel needs a schema: its types are not known");
    }
    Schema inferred = inferred_schema(schema, *signature);
    name = inferred.full_name();
    define(inferred.str(), place);
  } else {
    name = Schema::parse(schema).full_name();
    define(schema, place);
  }
  return implement(name, key, std::move(kernel), std::move(place));
}

Library& Library::implement(std::string_view name, DispatchKey key, Kernel kernel, Place place) {
  if (key == DispatchKey::Undefined) key = default_key();
  const auto [base, overload] = split_overload(name);
  const std::string full = qualified(state_->ns, base);
  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  registry.provide(state_->ns);
  OperatorEntry& entry = registry.entry(full, overload);
  auto& all = entry.implementations[static_cast<std::size_t>(key)];
  auto record = std::make_unique<Record>(Record{std::move(kernel), key, std::move(place)});
  if (!all.empty()) {
    const Record& other = *all.front().record;
    if (other.place != record->place && !other.function.is_same(record->function)) {
      fail<RuntimeError>("[", entry.full_name, "] has a kernel for ", lamella::name(key), " from ", other.place.str(),
                         ", and gets another at ", record->place.str());
    }
  }
  if (const registry::Plan* plan = entry.plan.load()) check_kernel(plan->schema, *record);
  all.push_back({state_->id, registry.records.emplace_back(std::move(record)).get()});
  state_->note(entry);
  entry.update();
  return *this;
}

Library& Library::set_fallback(Kernel kernel, Place place) {
  if (state_->ns != "_") {
    fail<RuntimeError>(
        "[Library] a fallback is for all operators: register it in LAMELLA_LIBRARY_IMPL(_, key, m), not "
        "in the namespace '",
        state_->ns, "'");
  }
  const DispatchKey key = state_->key;
  if (static_cast<std::size_t>(key) >= kDispatchSlots && key != DispatchKey::Autograd) {
    fail<RuntimeError>("[Library] there is no fallback for ", name(key), ", only for a device or Autograd");
  }
  if (kernel.signature()) {
    fail<TypeError>(
        "[Library] a fallback sees its arguments boxed: make it with KernelFunction::boxed() or "
        "fallthrough()");
  }
  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  auto& all = registry.fallbacks[static_cast<std::size_t>(key)];
  if (!all.empty() && all.front().record->place != place) {
    fail<RuntimeError>("[Library] there is a fallback for ", name(key), " from ", all.front().record->place.str(),
                       ", and another at ", place.str());
  }
  auto record = std::make_unique<Record>(Record{std::move(kernel), key, std::move(place)});
  all.push_back({state_->id, registry.records.emplace_back(std::move(record)).get()});
  state_->has_fallback = true;
  registry.update_all();
  return *this;
}

Library& Library::doc(std::string_view name, std::string_view text) {
  const auto [base, overload] = split_overload(name);
  auto& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  OperatorEntry& entry = registry.entry(qualified(state_->ns, base), overload);
  for (auto& definition : entry.definitions) {
    if (definition.library == state_->id) {
      definition.doc = text;
      return *this;
    }
  }
  fail<RuntimeError>("[", entry.full_name, "] doc() is for operators that this library defined before");
}

}  // namespace lamella
