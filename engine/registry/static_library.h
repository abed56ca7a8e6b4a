#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "engine/registry/abi.h"
#include "engine/registry/library.h"

// What shared objects register while they are loaded.

namespace lamella::registry {

/// An exception without its object, whose code may be in a library that is about to be closed.
struct Failure {
  std::string what;
  void (*raise)(const std::string&);
};
/// Returns the failure of the exception that is being handled.
Failure current_failure();

/// The registration of a StaticLibrary.
struct Registration {
  Library::Kind kind;
  const char* ns;
  DispatchKey key;
  void (*fill)(Library&);
  AbiStamp stamp;
  std::source_location where;
  /// Path of the shared object, as it was loaded.
  std::string file;
  /// Empty where it failed, and where a later version of the shared object took the namespace over.
  std::optional<Library> library = {};

  /// Registers everything, or nothing and throws.
  void run();
};

/// The registrations made while load_library() opens a library on this thread.
struct Loading {
  std::vector<Registration*> registrations;
  std::exception_ptr error;
};
/// Sets what registrations of this thread go to; returns what it was.
Loading* set_loading(Loading* scope) noexcept;

/// Throws RuntimeError where code at `place` was compiled for another Lamella.
void check_stamp(const std::string& place, const AbiStamp& stamp);

/// Begins to load a version of a shared object on this thread: where it registers something for a namespace, what the
/// other versions registered for that namespace is taken back.
void begin_version(std::vector<std::string> others);
/// Ends what begin_version() began. Unless it was `loaded`, its registrations are taken back, and those that gave way
/// to them are there again.
void end_version(const std::string& file, bool loaded) noexcept;
/// Registers what a shared object's static libraries gave up for another version, and what failed when they were
/// constructed; throws if it fails again.
void register_again(const std::string& file);

/// Called where a registration outside of load_library() fails, whose error is pending; null for none.
using FailureObserver = void (*)() noexcept;
void set_failure_observer(FailureObserver observer) noexcept;

}  // namespace lamella::registry
