#pragma once

/// `LM_HD` marks a function that both a CUDA thread and the host call.
#ifdef __CUDACC__
#define LM_HD __host__ __device__
#else
#define LM_HD
#endif
