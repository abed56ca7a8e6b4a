#pragma once

#include <cstdint>

#ifndef LAMELLA_ABI_VERSION
#define LAMELLA_ABI_VERSION 1  // tests define another number to build extensions that must not load
#endif

namespace lamella {

/// Version of the engine's layout as seen by extensions. An extension built with another number cannot be loaded.
inline constexpr int kAbiVersion = LAMELLA_ABI_VERSION;

namespace registry {

/// The build properties of a library. Its layout never changes, so that libraries of other versions are recognized.
struct AbiStamp {
  char magic[16];
  std::uint32_t abi_version;
  /// 1 if std::string is that of libstdc++'s new ABI.
  std::uint32_t cxx11_strings;
};

inline constexpr char kAbiMagic[16] = "lamella-abi-\x01\x02\x03";
/// The section of a library that holds its stamps; load_library() reads it before any code of the library runs.
#define LAMELLA_ABI_SECTION "lamella_abi"

#ifndef _GLIBCXX_USE_CXX11_ABI
#define LAMELLA_CXX11_STRINGS 1
#else
#define LAMELLA_CXX11_STRINGS _GLIBCXX_USE_CXX11_ABI
#endif

/// The stamp of this translation unit.
[[gnu::used, gnu::section(LAMELLA_ABI_SECTION)]] static const AbiStamp abi_stamp = {
    {'l', 'a', 'm', 'e', 'l', 'l', 'a', '-', 'a', 'b', 'i', '-', '\x01', '\x02', '\x03', '\0'},
    LAMELLA_ABI_VERSION,
    LAMELLA_CXX11_STRINGS};

}  // namespace registry
}  // namespace lamella
