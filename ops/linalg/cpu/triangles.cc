#include "ops/cpu/tables/triangles.h"

#include "ops/cpu/aligned.h"
#include "ops/linalg/cpu/triangle_panel.h"
#include "ops/linalg/cpu/triangle_vector.h"

namespace lamella::cpu {
namespace {

template <class T>
class Solver {
 public:
  static constexpr int kColumns = 2 * simd::Vec<T>::size;

  explicit Solver(const TriangleArgs& args)
      : a_{static_cast<const T*>(args.a), args.a_row, args.a_column},
        b_(static_cast<T*>(args.b)),
        b_row_(args.b_row),
        args_(args),
        panel_(make_lines<T>(static_cast<std::size_t>(args.n * kColumns))) {
    if (!args.upper) return;
    // An upper triangle with its rows and columns reversed is a lower one.
    a_ = {a_.at(args.n - 1, args.n - 1), -a_.row, -a_.column};
    b_ += (args.n - 1) * b_row_;
    b_row_ = -b_row_;
  }

  void run() const {
    for (std::int64_t column = 0; column < args_.columns; column += kColumns) {
      const auto count = static_cast<int>(std::min<std::int64_t>(kColumns, args_.columns - column));
      count > V::size ? solve<2>(b_ + column, count) : solve<1>(b_ + column, count);
    }
  }

 private:
  using V = simd::Vec<T>;

  /// Solves `count` columns in a panel of whole vectors.
  template <int kVectors>
  void solve(T* b, int count) const {
    constexpr int kRow = kVectors * V::size;
    constexpr int kFull = kRow - V::size;  // columns in front of the last vector
    T* const panel = panel_.get();
    for (std::int64_t i = 0; i < args_.n; ++i) {
      if constexpr (kVectors > 1) V::load(b + i * b_row_).store(panel + i * kRow);
      V::load_partial(b + i * b_row_ + kFull, count - kFull, T(0)).store(panel + i * kRow + kFull);
    }
    solve_lower<kVectors>(a_, args_.unit_diagonal, args_.n, panel, kRow);
    for (std::int64_t i = 0; i < args_.n; ++i) {
      if constexpr (kVectors > 1) V::load(panel + i * kRow).store(b + i * b_row_);
      V::load(panel + i * kRow + kFull).store_partial(b + i * b_row_ + kFull, count - kFull);
    }
  }

  Steps<T> a_;
  T* b_;
  std::int64_t b_row_;
  const TriangleArgs& args_;
  Lines<T> panel_;
};

template <class T>
void solve_one(const TriangleArgs& args) {
  const Steps<T> a{static_cast<const T*>(args.a), args.a_row, args.a_column};
  // A column of b with a stride cannot be loaded in vectors.
  if (args.b_row != 1 || !VectorSolver<T>::takes(a)) return Solver<T>(args).run();
  VectorSolver<T>(a, args.upper, args.unit_diagonal, args.n, static_cast<T*>(args.b)).run();
}

template <class T>
void fill(TriangleKernels& kernels, DType dtype) {
  const auto column = static_cast<std::size_t>(dtype);
  kernels.solve[column] = [](const TriangleArgs& args) { Solver<T>(args).run(); };
  kernels.solve_one[column] = solve_one<T>;
  kernels.columns[column] = simd::Vec<T>::size;
}

}  // namespace

void fill_triangle(TriangleKernels& kernels) {
  fill<float>(kernels, DType::Float32);
  fill<double>(kernels, DType::Float64);
}

}  // namespace lamella::cpu
