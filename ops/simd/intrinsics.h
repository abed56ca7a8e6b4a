#pragma once

// The compiler's intrinsics for this processor, where it has some that are used.
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
