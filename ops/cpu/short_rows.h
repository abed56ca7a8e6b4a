#pragma once

#include <cstdint>
#include <cstring>

#include "ops/simd/isa.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Number of bytes of the longest row that is copied as two pieces.
inline constexpr std::int64_t kShortRowBytes = 128;

template <std::int64_t kBytes>
struct RowPiece {
  char bytes[kBytes];
};

/// Copies a row as one piece; a call of memcpy would take longer than such a row.
template <std::int64_t kPiece>
struct CopyPiece {
  void operator()(char* to, const char* from) const {
    RowPiece<kPiece> row;
    std::memcpy(&row, from, kPiece);
    std::memcpy(to, &row, kPiece);
  }
};
/// Copies a row as its first and its last piece, which may overlap. All of it is read before any is written.
template <std::int64_t kPiece>
struct CopyPieces {
  std::int64_t last;  // offset of the last piece
  void operator()(char* to, const char* from) const {
    RowPiece<kPiece> first_piece, last_piece;
    std::memcpy(&first_piece, from, kPiece);
    std::memcpy(&last_piece, from + last, kPiece);
    std::memcpy(to, &first_piece, kPiece);
    std::memcpy(to + last, &last_piece, kPiece);
  }
};

/// Calls f with a functor that copies rows of `bytes` bytes, at most kShortRowBytes; the size is dispatched once for
/// many rows.
template <class F>
void with_row_copy(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(CopyPiece<1>{});
    case 2:
      return f(CopyPiece<2>{});
    case 3:
      return f(CopyPieces<2>{1});
    case 4:
      return f(CopyPiece<4>{});
    case 8:
      return f(CopyPiece<8>{});
    case 16:
      return f(CopyPiece<16>{});
    case 32:
      return f(CopyPiece<32>{});
    case 64:
      return f(CopyPiece<64>{});
    default:
      break;
  }
  if (bytes < 8) return f(CopyPieces<4>{bytes - 4});
  if (bytes < 16) return f(CopyPieces<8>{bytes - 8});
  if (bytes < 32) return f(CopyPieces<16>{bytes - 16});
  if (bytes < 64) return f(CopyPieces<32>{bytes - 32});
  f(CopyPieces<64>{bytes - 64});
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
