#pragma once

namespace lamella::linalg::lapack {

/// Guarantees OpenBLAS `count` buffers for the lifetime of this object. OpenBLAS maps a buffer of 128 MiB when it first
/// needs it, keeps it, and retries forever if the system refuses. Throws OutOfMemoryError that names `op` if a memory
/// limit leaves no room.
class OpenBlasBuffers {
 public:
  OpenBlasBuffers(int count, const char* op);
  ~OpenBlasBuffers();
  OpenBlasBuffers(const OpenBlasBuffers&) = delete;
  OpenBlasBuffers& operator=(const OpenBlasBuffers&) = delete;

 private:
  int count_;
};

}  // namespace lamella::linalg::lapack
