#pragma once

// Includes the compiler's intrinsics for this processor, if it has any that are used.
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
