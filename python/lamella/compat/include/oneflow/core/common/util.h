#pragma once

// Checks, messages and small helpers of sources of operators: docs/compat.md.

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ops/user_op/maybe.h"

namespace oneflow {

template <class Key, class Value>
using HashMap = std::unordered_map<Key, Value>;
template <class Key>
using HashSet = std::unordered_set<Key>;

inline std::size_t RoundUp(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }
/// Returns the number of bytes that a part of "tmp_buffer" takes, for the next part to be aligned.
inline std::size_t GetCudaAlignedSize(std::size_t bytes) { return RoundUp(bytes, 512); }

}  // namespace oneflow

#define CHECK_NOTNULL(pointer) CHECK((pointer) != nullptr)
#define CHECK_ISNULL(pointer) CHECK((pointer) == nullptr)
#define CHECK_STREQ(a, b) CHECK(std::string_view(a) == std::string_view(b))
#define CHECK_STRNE(a, b) CHECK(std::string_view(a) != std::string_view(b))
#define CHECK_NOTNULL_OR_RETURN(pointer) CHECK_OR_RETURN((pointer) != nullptr)
#define CHECK_ISNULL_OR_RETURN(pointer) CHECK_OR_RETURN((pointer) == nullptr)
#define CHECK_STREQ_OR_RETURN(a, b) CHECK_OR_RETURN(std::string_view(a) == std::string_view(b))

/// Throws that something is not implemented, or returns that.
#define UNIMPLEMENTED() ::lamella::user_op::detail::NotReached(__FILE__, __LINE__)
#define UNIMPLEMENTED_THEN_RETURN() return ::lamella::user_op::Error::Unimplemented() << "not implemented "
#define OF_UNIMPLEMENTED() UNIMPLEMENTED_THEN_RETURN()

/// Writes a line to the standard error; LOG(FATAL) throws it.
#define LOG(severity) LAMELLA_LOG_##severity
#define LAMELLA_LOG_INFO ::lamella::user_op::detail::LogLine("I", __FILE__, __LINE__)
#define LAMELLA_LOG_WARNING ::lamella::user_op::detail::LogLine("W", __FILE__, __LINE__)
#define LAMELLA_LOG_ERROR ::lamella::user_op::detail::LogLine("E", __FILE__, __LINE__)
#define LAMELLA_LOG_FATAL ::lamella::user_op::detail::FailedCheck("LOG(FATAL)", __FILE__, __LINE__)
#define LOG_IF(severity, condition) \
  if (!(condition)) {               \
  } else                            \
    LOG(severity)
/// Lines for debugging, which are not written.
#define VLOG(level) LOG_IF(INFO, false)
#define DLOG(severity) LOG_IF(severity, false)
