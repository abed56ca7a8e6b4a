#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"
#include "ops/special/number_by_number.h"

// Orthogonal polynomials of a degree n that is a number or a tensor; fractions are truncated, and a negative degree
// gives 0. They have derivatives by x of every order. Throws ValueError for degrees above ten million, except for
// Chebyshev's polynomials themselves, which have formulas.

namespace lamella {

struct Polynomial : NumberByNumber {
  static constexpr const char* kParameters = "x, n, /";
};

struct ChebyshevT : Polynomial {
  static constexpr OpInfo info{.name = "chebyshev_polynomial_t",
                               .doc = "Chebyshev's polynomial of the first kind, of degree n: cos(n t) for x = cos(t).",
                               .example = "chebyshev_polynomial_t(full([2], 0.5), 3)",
                               .reference = "sp.eval_chebyt(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ChebyshevU : Polynomial {
  static constexpr OpInfo info{
      .name = "chebyshev_polynomial_u",
      .doc = "Chebyshev's polynomial of the second kind, of degree n: sin((n + 1) t) / sin(t) for x = cos(t).",
      .example = "chebyshev_polynomial_u(full([2], 0.5), 3)",
      .reference = "sp.eval_chebyu(n, x)",
      .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ChebyshevV : Polynomial {
  static constexpr OpInfo info{
      .name = "chebyshev_polynomial_v",
      .doc = "Chebyshev's polynomial of the third kind, of degree n: cos((n + 1/2) t) / cos(t / 2) for x = cos(t).",
      .example = "chebyshev_polynomial_v(full([2], 0.5), 3)",
      .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ChebyshevW : Polynomial {
  static constexpr OpInfo info{
      .name = "chebyshev_polynomial_w",
      .doc = "Chebyshev's polynomial of the fourth kind, of degree n: sin((n + 1/2) t) / sin(t / 2) for x = cos(t).",
      .example = "chebyshev_polynomial_w(full([2], 0.5), 3)",
      .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ShiftedChebyshevT : Polynomial {
  static constexpr OpInfo info{.name = "shifted_chebyshev_polynomial_t",
                               .doc = "chebyshev_polynomial_t(2 * x - 1, n).",
                               .example = "shifted_chebyshev_polynomial_t(full([2], 0.5), 3)",
                               .reference = "sp.eval_sh_chebyt(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ShiftedChebyshevU : Polynomial {
  static constexpr OpInfo info{.name = "shifted_chebyshev_polynomial_u",
                               .doc = "chebyshev_polynomial_u(2 * x - 1, n).",
                               .example = "shifted_chebyshev_polynomial_u(full([2], 0.5), 3)",
                               .reference = "sp.eval_sh_chebyu(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ShiftedChebyshevV : Polynomial {
  static constexpr OpInfo info{.name = "shifted_chebyshev_polynomial_v",
                               .doc = "chebyshev_polynomial_v(2 * x - 1, n).",
                               .example = "shifted_chebyshev_polynomial_v(full([2], 0.5), 3)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct ShiftedChebyshevW : Polynomial {
  static constexpr OpInfo info{.name = "shifted_chebyshev_polynomial_w",
                               .doc = "chebyshev_polynomial_w(2 * x - 1, n).",
                               .example = "shifted_chebyshev_polynomial_w(full([2], 0.5), 3)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct HermiteH : Polynomial {
  static constexpr OpInfo info{.name = "hermite_polynomial_h",
                               .doc = "Hermite's polynomial of degree n, orthogonal with the weight exp(-x * x).",
                               .example = "hermite_polynomial_h(full([2], 0.5), 3)",
                               .reference = "sp.eval_hermite(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct HermiteHe : Polynomial {
  static constexpr OpInfo info{.name = "hermite_polynomial_he",
                               .doc = "Hermite's polynomial of degree n, orthogonal with the weight exp(-x * x / 2).",
                               .example = "hermite_polynomial_he(full([2], 0.5), 3)",
                               .reference = "sp.eval_hermitenorm(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct LaguerreL : Polynomial {
  static constexpr OpInfo info{.name = "laguerre_polynomial_l",
                               .doc = "Laguerre's polynomial of degree n.",
                               .example = "laguerre_polynomial_l(full([2], 0.5), 3)",
                               .reference = "sp.eval_laguerre(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

struct LegendreP : Polynomial {
  static constexpr OpInfo info{.name = "legendre_polynomial_p",
                               .doc = "Legendre's polynomial of degree n.",
                               .example = "legendre_polynomial_p(full([2], 0.5), 3)",
                               .reference = "sp.eval_legendre(n, x)",
                               .dtypes = Floating};
  static Tensor call(const Operand& x, const Operand& n);
};

}  // namespace lamella
