#pragma once

#include <cstdint>

#ifndef LAMELLA_ABI_VERSION
#define LAMELLA_ABI_VERSION 1  // another number builds an extension that must not load: that is for tests
#endif

namespace lamella {

/// Counts the changes of what extensions see of the engine's layout. One built with another number cannot be loaded.
inline constexpr int kAbiVersion = LAMELLA_ABI_VERSION;

namespace registry {

/// What a library was built with. Its layout never changes: it is how libraries of other versions are recognized.
struct AbiStamp {
  char magic[16];
  std::uint32_t abi_version;
  /// Whether std::string is that of the new ABI of libstdc++.
  std::uint32_t cxx11_strings;
};

inline constexpr char kAbiMagic[16] = "lamella-abi-\x01\x02\x03";
/// The section of a library that holds its stamps, which load_library() reads before any code of the library runs.
#define LAMELLA_ABI_SECTION "lamella_abi"

#ifndef _GLIBCXX_USE_CXX11_ABI
#define LAMELLA_CXX11_STRINGS 1
#else
#define LAMELLA_CXX11_STRINGS _GLIBCXX_USE_CXX11_ABI
#endif

/// This translation unit's.
[[gnu::used, gnu::section(LAMELLA_ABI_SECTION)]] static const AbiStamp abi_stamp = {
    {'l', 'a', 'm', 'e', 'l', 'l', 'a', '-', 'a', 'b', 'i', '-', '\x01', '\x02', '\x03', '\0'},
    LAMELLA_ABI_VERSION,
    LAMELLA_CXX11_STRINGS};

}  // namespace registry
}  // namespace lamella
