#pragma once

#include "c10/util/Exception.h"

/// Counts the uses of a function. Accepted; nothing here counts them.
#define C10_LOG_API_USAGE_ONCE(...) static_cast<void>(0)

// Checks of two values, which the text of the error shows.
#define C10_CHECK_OP_(a, b, op) TORCH_CHECK((a)op(b), "Check failed: " #a " " #op " " #b " (", (a), " vs. ", (b), ")")
#define TORCH_CHECK_EQ(a, b) C10_CHECK_OP_(a, b, ==)
#define TORCH_CHECK_NE(a, b) C10_CHECK_OP_(a, b, !=)
#define TORCH_CHECK_LT(a, b) C10_CHECK_OP_(a, b, <)
#define TORCH_CHECK_LE(a, b) C10_CHECK_OP_(a, b, <=)
#define TORCH_CHECK_GT(a, b) C10_CHECK_OP_(a, b, >)
#define TORCH_CHECK_GE(a, b) C10_CHECK_OP_(a, b, >=)
