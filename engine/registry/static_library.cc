#include "engine/registry/static_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/registry/pending.h"

// Note [Loading]
// Registrations run in static constructors, which must not throw. So StaticLibrary catches exceptions, and
// load_library() throws the first one after dlopen() has returned and the library's registrations were removed. Where
// somebody else called dlopen(), as the import of a module does, the observer is told.

namespace lamella::registry {
namespace {

/// All registrations of shared objects that are loaded, in order.
struct Registrations {
  std::mutex mutex;
  std::vector<Registration*> all;
};
Registrations& registrations() {
  static auto* const state = new Registrations;
  return *state;
}

template <class Chosen>
std::vector<Registration*> registrations_where(Chosen&& chosen) {
  const std::lock_guard lock(registrations().mutex);
  std::vector<Registration*> found;
  std::ranges::copy_if(registrations().all, std::back_inserter(found),
                       [&](Registration* each) { return chosen(*each); });
  return found;
}

thread_local constinit Loading* loading = nullptr;

/// A version of a shared object that is being loaded.
struct Version {
  std::vector<std::string> others;
  std::unique_ptr<Version> outer;
  std::vector<Registration*> gave_way = {};
};
thread_local constinit Version* innermost = nullptr;  // owned; a pointer, as threads' memory for libraries is scarce

std::atomic<FailureObserver> failure_observer{nullptr};

template <class E>
[[noreturn]] void raise(const std::string& what) {
  throw E(what);
}

/// Returns the path of the shared object that a function is in.
std::string file_of(void (*function)(Library&)) {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(function), &info) && info.dli_fname ? info.dli_fname : "";
}

/// Takes back what other versions of the shared object that is being loaded registered for a namespace.
void take_over(std::string_view ns) {
  if (!innermost) return;
  Version& version = *innermost;
  for (Registration* each : registrations_where([&](const Registration& other) {
         return other.library && other.ns == ns &&
                std::ranges::find(version.others, other.file) != version.others.end();
       })) {
    each->library.reset();
    version.gave_way.push_back(each);
  }
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const ValueError& error) {
    return {error.what(), raise<ValueError>};
  } catch (const TypeError& error) {
    return {error.what(), raise<TypeError>};
  } catch (const IndexError& error) {
    return {error.what(), raise<IndexError>};
  } catch (const NotImplementedError& error) {
    return {error.what(), raise<NotImplementedError>};
  } catch (const std::exception& error) {
    return {error.what(), raise<RuntimeError>};
  } catch (...) {
    return {"an unknown C++ exception while the library was loaded", raise<RuntimeError>};
  }
}

void Registration::run() {
  check_stamp(where.file_name(), stamp);
  take_over(ns);
  Library made(kind, ns, key, where);
  fill(made);
  library.emplace(std::move(made));
}

Loading* set_loading(Loading* scope) noexcept { return std::exchange(loading, scope); }

void check_stamp(const std::string& place, const AbiStamp& stamp) {
  if (stamp.abi_version != static_cast<std::uint32_t>(kAbiVersion)) {
    fail<RuntimeError>("[load_library] ", place, " was built for ABI version ", stamp.abi_version,
                       " of Lamella, the one installed has ", kAbiVersion, ": build it again with the installed one");
  }
  if (stamp.cxx11_strings != static_cast<std::uint32_t>(LAMELLA_CXX11_STRINGS)) {
    fail<RuntimeError>("[load_library] ", place, " was built with _GLIBCXX_USE_CXX11_ABI=", stamp.cxx11_strings,
                       ", Lamella with ", LAMELLA_CXX11_STRINGS, ": build it again with the same");
  }
}

void begin_version(std::vector<std::string> others) {
  auto outer = std::unique_ptr<Version>(innermost);
  innermost = new Version{std::move(others), std::move(outer)};
}

void end_version(const std::string& file, bool loaded) noexcept {
  const auto ended = std::unique_ptr<Version>(innermost);
  innermost = ended->outer.release();
  if (loaded) return;
  for (Registration* each : registrations_where([&](const Registration& one) { return one.file == file; })) {
    each->library.reset();
  }
  for (Registration* each : ended->gave_way) {
    try {
      each->run();
    } catch (...) {
      note_pending_error();
    }
  }
}

void register_again(const std::string& file) {
  for (Registration* each :
       registrations_where([&](const Registration& one) { return one.file == file && !one.library; })) {
    each->run();
  }
}

void set_failure_observer(FailureObserver observer) noexcept { failure_observer.store(observer); }

StaticLibrary::StaticLibrary(Library::Kind kind, const char* ns, DispatchKey key, void (*fill)(Library&),
                             const AbiStamp& stamp, std::source_location where) noexcept {
  try {
    auto* const registration = new Registration{kind, ns, key, fill, stamp, where, file_of(fill)};
    registration_ = registration;
    {
      const std::lock_guard lock(registrations().mutex);
      registrations().all.push_back(registration);
    }
    if (loading) loading->registrations.push_back(registration);
    registration->run();
  } catch (...) {
    if (loading) {
      if (!loading->error) loading->error = std::current_exception();
      return;
    }
    note_pending_error();
    // Who loads a version asks for its failure.
    const FailureObserver observer = failure_observer.load();
    if (observer && !innermost) observer();
  }
}

StaticLibrary::~StaticLibrary() {
  auto* const registration = static_cast<Registration*>(registration_);
  {
    const std::lock_guard lock(registrations().mutex);
    std::erase(registrations().all, registration);
  }
  delete registration;
}

}  // namespace lamella::registry
