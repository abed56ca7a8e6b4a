#pragma once

/// `LM_HD` marks a function that is called in CUDA threads and on the host.
#ifdef __CUDACC__
#define LM_HD __host__ __device__
#else
#define LM_HD
#endif
