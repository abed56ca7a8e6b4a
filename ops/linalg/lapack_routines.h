#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

#include "ops/linalg/openblas.h"

// The routines of LAPACK and BLAS in use (LAPACK Users' Guide, third edition, 1999). Each exists for four element
// types, whose letter begins its Fortran symbol; the functions are looked up in OpenBLAS with their first call.

namespace lamella::linalg {

/// The letter of an element type.
template <class T>
inline constexpr char kLetter = 's';
template <>
inline constexpr char kLetter<double> = 'd';
template <>
inline constexpr char kLetter<std::complex<float>> = 'c';
template <>
inline constexpr char kLetter<std::complex<double>> = 'z';

/// Returns a routine's symbol for an element type: "sgetrf_" for "getrf" and float.
template <class T, std::size_t N>
consteval FunctionName<N + 2> symbol_of(const FunctionName<N>& name) {
  char text[N + 2]{kLetter<T>};
  for (std::size_t i = 0; i + 1 < N; ++i) text[i + 1] = name.text[i];
  text[N] = '_';
  return text;
}

template <class T, FunctionName name, class F>
using RoutineOf = Routine<symbol_of<T>(name), F>;
/// A routine that has one name for real and another for complex elements.
template <class T, FunctionName real, FunctionName complex, class F>
using RoutineOfEither = Routine<symbol_of<T>(std::is_floating_point_v<T> ? real : complex), F>;

// Parameters as Fortran takes them: by address, with the lengths of the options behind all others.
using Option = const char*;
using Size = const int*;
using Length = std::size_t;

/// The routines for an element type, under their common names.
template <class T>
struct Routines {
  using Real = decltype(std::abs(T()));
  /// The type of a routine that takes other arguments for complex elements, mostly a workspace of real ones.
  template <class OfReal, class OfComplex>
  using Either = std::conditional_t<std::is_floating_point_v<T>, OfReal, OfComplex>;

  static constexpr RoutineOf<T, "potrf", void(Option, Size, T*, Size, int*, Length)> potrf{};
  static constexpr RoutineOf<T, "getrf", void(Size, Size, T*, Size, int*, int*)> getrf{};
  static constexpr RoutineOf<T, "getrs", void(Option, Size, Size, const T*, Size, Size, T*, Size, int*, Length)>
      getrs{};
  static constexpr RoutineOf<T, "getri", void(Size, T*, Size, Size, T*, Size, int*)> getri{};
  static constexpr RoutineOf<T, "geqrf", void(Size, Size, T*, Size, T*, T*, Size, int*)> geqrf{};
  static constexpr RoutineOfEither<T, "orgqr", "ungqr", void(Size, Size, Size, T*, Size, const T*, T*, Size, int*)>
      ungqr{};
  static constexpr RoutineOfEither<
      T, "syevd", "heevd",
      Either<void(Option, Option, Size, T*, Size, Real*, T*, Size, int*, Size, int*, Length, Length),
             void(Option, Option, Size, T*, Size, Real*, T*, Size, Real*, Size, int*, Size, int*, Length, Length)>>
      heevd{};
  static constexpr RoutineOf<
      T, "geev",
      Either<void(Option, Option, Size, T*, Size, T*, T*, T*, Size, T*, Size, T*, Size, int*, Length, Length),
             void(Option, Option, Size, T*, Size, T*, T*, Size, T*, Size, T*, Size, Real*, int*, Length, Length)>>
      geev{};
  static constexpr RoutineOf<
      T, "gesdd",
      Either<void(Option, Size, Size, T*, Size, Real*, T*, Size, T*, Size, T*, Size, int*, int*, Length),
             void(Option, Size, Size, T*, Size, Real*, T*, Size, T*, Size, T*, Size, Real*, int*, int*, Length)>>
      gesdd{};
  static constexpr RoutineOf<T, "trsm",
                             void(Option, Option, Option, Option, Size, Size, const T*, const T*, Size, T*, Size,
                                  Length, Length, Length, Length)>
      trsm{};
};

/// Routines for real symmetric matrices.
template <class T>
struct TridiagonalRoutines {
  static constexpr RoutineOf<T, "sytrd", void(Option, Size, T*, Size, T*, T*, T*, T*, Size, int*, Length)> sytrd{};
  static constexpr RoutineOf<T, "stedc", void(Option, Size, T*, T*, T*, Size, T*, Size, int*, Size, int*, Length)>
      stedc{};
};

}  // namespace lamella::linalg
