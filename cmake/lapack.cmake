# Decides whether lamella.linalg's decompositions are built (LAMELLA_LAPACK): they are OpenBLAS's. Debian has it threaded
# by OpenMP, which shares our threads (libopenblas-openmp-dev), and by threads of its own, which then stay unused.

set(LAMELLA_LAPACK OFF)
if(LAMELLA_WITH_LAPACK)  # AUTO or ON
  find_library(LAMELLA_OPENBLAS openblas PATH_SUFFIXES openblas-openmp openblas-pthread openblas-serial)
  if(LAMELLA_OPENBLAS)
    set(LAMELLA_LAPACK ON)
  elseif(LAMELLA_WITH_LAPACK STREQUAL "AUTO")
    message(STATUS "OpenBLAS was not found (Debian's libopenblas-openmp-dev): most of lamella.linalg is left out")
  else()
    message(FATAL_ERROR "LAMELLA_WITH_LAPACK is ${LAMELLA_WITH_LAPACK}, but OpenBLAS was not found (Debian's package is "
                        "libopenblas-openmp-dev)")
  endif()
endif()
