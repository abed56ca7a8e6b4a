#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace lamella::cpu {

inline constexpr std::align_val_t kLine{64};

struct FreeLines {
  void operator()(void* memory) const { ::operator delete(memory, kLine); }
};

/// Returns uninitialized memory aligned to a cache line.
template <class T>
using Lines = std::unique_ptr<T[], FreeLines>;
template <class T>
Lines<T> make_lines(std::size_t count) {
  return Lines<T>(static_cast<T*>(::operator new(sizeof(T) * count, kLine)));
}

}  // namespace lamella::cpu
