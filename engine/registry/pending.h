#pragma once

#include <exception>
#include <string>

// Notes on libraries that were loaded and whose registrations failed, or that registered nothing.

namespace lamella::registry {

/// Throws the first error of a library that registered itself outside of load_library(), if there is one. Fronts call
/// it in the initialization of their own modules.
void throw_pending_error();

/// Returns that error, or null; it stays noted.
std::exception_ptr pending_error();

/// Notes an error of a library that registered itself outside of load_library().
void note_pending_error() noexcept;
/// Returns "; a library that was loaded before failed: ..." where there is such an error; nothing otherwise.
std::string pending_error_text();
/// Notes that a library was loaded and registered nothing.
void note_silent_library(const std::string& path);
/// Returns the part of an error about an unknown namespace that tells of libraries which were loaded and registered
/// nothing.
std::string silent_libraries_text();

}  // namespace lamella::registry
