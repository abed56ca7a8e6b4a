#include "ops/cpu/tables/vector_functions.h"

#include "ops/elementwise/gelu.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using Address = VectorFunctionTable::Address;

template <class T>
class Row {
 public:
  using V = simd::Vec<T>;

  explicit Row(Address* row) : row_(row) {}

  /// Sets a function of one number.
  template <class F>
  void one(VectorFunction function, F) {
    set(function, [](const T* a, const T*, T* out, std::int64_t n) {
      for (std::int64_t i = 0; i < n; i += V::size) F()(V::load(a + i)).store(out + i);
    });
  }
  /// Sets a function of two numbers.
  template <class F>
  void two(VectorFunction function, F) {
    set(function, [](const T* a, const T* b, T* out, std::int64_t n) {
      for (std::int64_t i = 0; i < n; i += V::size) F()(V::load(a + i), V::load(b + i)).store(out + i);
    });
  }

 private:
  using Function = void (*)(const T* a, const T* b, T* out, std::int64_t n);

  void set(VectorFunction function, Function address) {
    row_[static_cast<int>(function)] = reinterpret_cast<Address>(address);
  }

  Address* row_;
};

template <class T>
void fill(Row<T> row) {
  using V = simd::Vec<T>;
  using enum VectorFunction;
  row.one(Sqrt, [](V a) { return sqrt(a); });
  row.one(Floor, [](V a) { return floor(a); });
  row.one(Ceil, [](V a) { return ceil(a); });
  row.one(Trunc, [](V a) { return trunc(a); });
  row.one(Round, [](V a) { return round(a); });
  row.one(Exp, [](V a) { return exp(a); });
  row.one(Exp2, [](V a) { return exp2(a); });
  row.one(Expm1, [](V a) { return expm1(a); });
  row.one(Log, [](V a) { return log(a); });
  row.one(Log1p, [](V a) { return log1p(a); });
  row.one(Log2, [](V a) { return log2(a); });
  row.one(Log10, [](V a) { return log10(a); });
  row.one(Sin, [](V a) { return sin(a); });
  row.one(Cos, [](V a) { return cos(a); });
  row.one(Tan, [](V a) { return tan(a); });
  row.one(Asin, [](V a) { return asin(a); });
  row.one(Acos, [](V a) { return acos(a); });
  row.one(Atan, [](V a) { return atan(a); });
  row.one(Sinh, [](V a) { return sinh(a); });
  row.one(Cosh, [](V a) { return cosh(a); });
  row.one(Tanh, [](V a) { return tanh(a); });
  row.one(Asinh, [](V a) { return asinh(a); });
  row.one(Acosh, [](V a) { return acosh(a); });
  row.one(Atanh, [](V a) { return atanh(a); });
  row.one(Erf, [](V a) { return erf(a); });
  row.one(Erfc, [](V a) { return erfc(a); });
  row.one(Erfinv, [](V a) { return erfinv(a); });
  row.one(Lgamma, [](V a) { return lgamma(a); });
  row.one(Digamma, [](V a) { return digamma(a); });
  row.one(Gelu, [](V a) { return GeluErf::forward(a); });
  row.two(Pow, [](V a, V b) { return pow(a, b); });
  row.two(Fmod, [](V a, V b) { return fmod(a, b); });
  row.two(Atan2, [](V a, V b) { return atan2(a, b); });
  row.two(Hypot, [](V a, V b) { return hypot(a, b); });
  row.two(NextAfter, [](V a, V b) { return nextafter(a, b); });
  row.two(Zeta, [](V a, V b) { return zeta(a, b); });
}

}  // namespace

void fill_vector_functions(VectorFunctionTable& table) {
  table.bytes = simd::kVectorBytes;
  fill(Row<float>(table.float32));
  fill(Row<double>(table.float64));
}

}  // namespace lamella::cpu
