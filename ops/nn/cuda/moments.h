#pragma once

// Mean and variance in one pass over the elements.

namespace lamella::cuda {

/// Mean and sum of squared distances to it of so many elements.
template <class T>
struct Moments {
  T mean;
  T squares;
  T count;

  /// Adds an element by Welford's recurrence (Note on a method for calculating corrected sums of squares and products,
  /// 1962).
  __device__ void add(T x) {
    const T distance = x - mean;
    count += 1;
    mean += distance / count;
    squares += distance * (x - mean);
  }
};

/// Joins the moments of two sets (Chan et al., Updating formulae and a pairwise algorithm for computing sample
/// variances, 1979).
template <class T>
__device__ Moments<T> joined(Moments<T> a, Moments<T> b) {
  const T count = a.count + b.count;
  if (count == 0) return a;
  const T distance = b.mean - a.mean;
  const T share = b.count / count;
  return {a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share, count};
}

}  // namespace lamella::cuda
