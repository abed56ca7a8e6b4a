#pragma once

#include "ops/linalg/lapack_routines.h"

namespace lamella::linalg {

/// The LAPACK routines for least squares.
template <class T>
struct LeastSquaresRoutines {
  using Real = typename Routines<T>::Real;
  template <class OfReal, class OfComplex>
  using Either = typename Routines<T>::template Either<OfReal, OfComplex>;

  static constexpr RoutineOf<T, "gels", void(Option, Size, Size, Size, T*, Size, T*, Size, T*, Size, int*, Length)>
      gels{};
  static constexpr RoutineOf<
      T, "gelsy",
      Either<void(Size, Size, Size, T*, Size, T*, Size, int*, const Real*, int*, T*, Size, int*),
             void(Size, Size, Size, T*, Size, T*, Size, int*, const Real*, int*, T*, Size, Real*, int*)>>
      gelsy{};
  static constexpr RoutineOf<
      T, "gelsd",
      Either<void(Size, Size, Size, T*, Size, T*, Size, Real*, const Real*, int*, T*, Size, int*, int*),
             void(Size, Size, Size, T*, Size, T*, Size, Real*, const Real*, int*, T*, Size, Real*, int*, int*)>>
      gelsd{};
  static constexpr RoutineOf<
      T, "gelss",
      Either<void(Size, Size, Size, T*, Size, T*, Size, Real*, const Real*, int*, T*, Size, int*),
             void(Size, Size, Size, T*, Size, T*, Size, Real*, const Real*, int*, T*, Size, Real*, int*)>>
      gelss{};
};

}  // namespace lamella::linalg
