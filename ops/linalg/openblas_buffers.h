#pragma once

namespace lamella::linalg::lapack {

/// Sees to it that OpenBLAS has `count` buffers for this call, for as long as the object lives. It maps one of 128 MiB
/// the first time that one is needed, keeps it, and tries again for ever where the system refuses. OutOfMemoryError,
/// naming `op`, where a limit of memory leaves no room for them.
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
