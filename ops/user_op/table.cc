#include "ops/user_op/table.h"

#include <algorithm>
#include <exception>
#include <set>
#include <stdexcept>
#include <string_view>

#include "engine/core/error.h"
#include "engine/registry/library.h"
#include "ops/user_op/schema.h"

namespace lamella::user_op {
namespace detail {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries;
};
Table& table() {
  static auto* const all = new Table;  // never destroyed: libraries unload when the process ends
  return *all;
}

/// The function that StaticLibrary's function, which takes no data, calls.
thread_local const std::function<void(Library&)>* filling = nullptr;

template <class T>
void drop(std::vector<std::shared_ptr<const T>>& all, const T* one) {
  std::erase_if(all, [one](const auto& each) { return each.get() == one; });
}

void check_names(const OpDef& def) {
  std::set<std::string_view> seen;
  const auto check = [&](const std::string& name, const char* what) {
    if (!seen.insert(name).second) {
      fail<ValueError>("[", def.name, "] ", what, " '", name, "' has the name of another argument (", str(def.place),
                       ")");
    }
  };
  for (const ArgDef& arg : def.inputs) check(arg.name, "input");
  for (const ArgDef& arg : def.outputs) check(arg.name, "output");
  for (const AttrDef& attr : def.attrs) check(attr.name, "attribute");
  for (const auto* args : {&def.inputs, &def.outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.count < 1) {
        fail<ValueError>("[", def.name, "] '", arg.name, "' is to be ", arg.count, " tensors (", str(def.place), ")");
      }
    }
  }
}

template <class E>
[[noreturn]] void again(const std::string& where, const std::exception& error) {
  const std::string_view what = error.what();
  if (what.starts_with("[")) throw E(std::string(what));
  throw E(where + " " + std::string(what));
}

}  // namespace

std::string str(const SourcePlace& place) { return place.file + ":" + std::to_string(place.line); }

std::shared_ptr<const OpDef> Entry::def() {
  const std::lock_guard lock(mutex);
  if (defs.empty()) fail<RuntimeError>("[", name, "] the operator's library was unloaded");
  return defs.front();
}

std::shared_ptr<const GradDef> Entry::grad() {
  const std::lock_guard lock(mutex);
  return grads.empty() ? nullptr : grads.front();
}

Entry& entry(const std::string& op) {
  const std::lock_guard lock(table().mutex);
  auto& found = table().entries[op];
  if (!found) found = std::make_unique<Entry>(op);
  return *found;
}

Entry& defined_entry(const std::string& op) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(table().mutex);
    const auto found = table().entries.find(op);
    for (const auto& [name, each] : table().entries) {
      const std::lock_guard inner(each->mutex);
      if (!each->defs.empty()) names.push_back(name);
    }
    if (found != table().entries.end() && std::ranges::find(names, op) != names.end()) return *found->second;
  }
  fail<ValueError>("[user_op] no operator '", op, "' is registered; there are ", quoted(names, std::identity()),
                   ". Was its library loaded (load_library)?");
}

std::vector<Entry*> all_entries() {
  const std::lock_guard lock(table().mutex);
  std::vector<Entry*> all;
  for (const auto& [name, each] : table().entries) all.push_back(each.get());
  return all;
}

std::vector<std::string> dangling_names() {
  const std::lock_guard lock(table().mutex);
  std::vector<std::string> names;
  for (const auto& [name, each] : table().entries) {
    const std::lock_guard inner(each->mutex);
    if (each->defs.empty() && !(each->kernels.empty() && each->grads.empty())) names.push_back(name);
  }
  return names;
}

void run_authors(const std::string& where, const std::function<void()>& function) {
  try {
    function();
  } catch (const ValueError& error) {
    again<ValueError>(where, error);
  } catch (const TypeError& error) {
    again<TypeError>(where, error);
  } catch (const IndexError& error) {
    again<IndexError>(where, error);
  } catch (const NotImplementedError& error) {
    again<NotImplementedError>(where, error);
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::logic_error& error) {
    again<ValueError>(where, error);
  } catch (const std::runtime_error& error) {
    again<RuntimeError>(where, error);
  } catch (const std::exception&) {
    throw;  // an exception of the host language, or a lack of memory
  } catch (...) {
    fail<RuntimeError>(where, " threw an exception that is not a std::exception");
  }
}

// --- Registrations ---------------------------------------------------------------------------------------------------

struct Registration::State {
  /// Removes the registration from the table.
  std::function<void()> undo;
  std::unique_ptr<registry::StaticLibrary> library;

  /// Runs `fill` as part of loading a library, so that its errors are reported as that library's.
  void add(const registry::AbiStamp& stamp, const std::function<void(Library&)>& fill) {
    const auto* const before = std::exchange(filling, &fill);
    library = std::make_unique<registry::StaticLibrary>(
        Library::Kind::Fragment, kNamespace, DispatchKey::Undefined, [](Library& m) { (*filling)(m); }, stamp);
    filling = before;
  }
};

Registration::Registration(OpDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library& m) {
    for (AttrDef& attr : given.attrs) {
      if (!attr.has_default) continue;
      attr.default_value = convert(std::move(attr.default_value), attr.type,
                                   "[" + given.name + "] the default of attribute '" + attr.name + "'");
    }
    check_names(given);
    const auto def = std::make_shared<const OpDef>(std::move(given));
    Entry& named = entry(def->name);
    define_in_registry(m, *def, named);
    {
      const std::lock_guard lock(named.mutex);
      named.defs.push_back(def);
    }
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard lock(named.mutex);
      drop(named.defs, raw);
    };
  });
}

Registration::Registration(KernelDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library&) {
    const auto def = std::make_shared<const KernelDef>(std::move(given));
    Entry& named = entry(def->op);
    const std::lock_guard lock(named.mutex);
    named.kernels.push_back(def);
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard inner(named.mutex);
      named.states.erase(raw);
      drop(named.kernels, raw);
    };
  });
}

Registration::Registration(GradDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library&) {
    const auto def = std::make_shared<const GradDef>(std::move(given));
    if (!def->make && !def->make_older) {
      fail<ValueError>("[", def->op, "] REGISTER_USER_OP_GRAD has no SetBackwardOpConfGenFn (", str(def->place), ")");
    }
    Entry& named = entry(def->op);
    const std::lock_guard lock(named.mutex);
    if (!named.grads.empty() && str(named.grads.front()->place) != str(def->place)) {
      fail<RuntimeError>("[", def->op, "] has a gradient from ", str(named.grads.front()->place),
                         ", and gets another at ", str(def->place));
    }
    named.grads.push_back(def);
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard inner(named.mutex);
      drop(named.grads, raw);
    };
  });
}

Registration::Registration(Registration&&) noexcept = default;
Registration::~Registration() {
  if (state_ && state_->undo) state_->undo();
}

}  // namespace detail
}  // namespace lamella::user_op
