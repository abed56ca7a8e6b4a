#pragma once

#include <cstdint>

namespace lamella::cuda {

/// Where the rows of a set of matrices lie, in elements, along three axes of matrices; a row is contiguous.
struct AttentionRows {
  const void* data = nullptr;
  std::int64_t strides[3] = {};
  std::int64_t row = 0;
  /// True if every row can be read by 16 bytes.
  bool aligned = false;
};

/// Bools that say which keys a query sees, or numbers that are added to the scores.
struct AttentionMask {
  const void* data = nullptr;
  std::int64_t strides[3] = {};
  std::int64_t query = 0;
  std::int64_t key = 0;
  bool numbers = false;
};

/// Which elements of the softmax are dropped: those of a 24-bit random number below `threshold`.
struct AttentionDropout {
  std::uint32_t threshold = 0;
  /// Multiplies the elements that are left.
  float factor = 1;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  /// The words of Note [Random numbers of graphs], or null.
  const std::uint64_t* begin = nullptr;
};

struct AttentionProblem {
  AttentionRows query, key, value;
  AttentionMask mask;
  AttentionDropout dropout;
  /// The sizes of the last two axes of matrices.
  std::int64_t inner[2] = {1, 1};
  std::int32_t queries = 0;
  std::int32_t keys = 0;
  std::int32_t width = 0;
  std::int32_t value_width = 0;
  float scale = 1;
  bool causal = false;
};

}  // namespace lamella::cuda
