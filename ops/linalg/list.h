#pragma once

#include "ops/linalg/addmm.h"
#include "ops/linalg/cholesky.h"
#include "ops/linalg/covariance.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/determinants.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/diagonal_forms.h"
#include "ops/linalg/einsum.h"
#include "ops/linalg/ldl.h"
#include "ops/linalg/least_squares.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/matrix_exp.h"
#include "ops/linalg/matrix_roots.h"
#include "ops/linalg/norms.h"
#include "ops/linalg/products.h"
#include "ops/linalg/pseudoinverse.h"
#include "ops/linalg/reflections.h"
#include "ops/linalg/solve.h"
#include "ops/op_info.h"

namespace lamella {

/// Products of matrices and vectors, decompositions, and operators computed by them.
using LinalgOps = OpList<                                     //
    Mm, Mv, Bmm, Inner, Addmm, Addmv, Addr, Baddbmm, Addbmm,  // addmm
    LinalgCholeskySolve, LinalgCholeskyInverse,               // cholesky
    Cov, CorrCoef,                                            // covariance
    LinalgCholesky, LinalgCholeskyEx, LinalgQr, LinalgEigh, LinalgEigvalsh, LinalgEig, LinalgEigvals, LinalgSvd,
    LinalgSvdvals,                                                             // decompositions
    LinalgDet, LinalgSlogdet,                                                  // determinants
    Diagonal, Trace,                                                           // diagonal
    Diag, DiagEmbed, DiagFlat, DiagonalScatter, TrilIndices, TriuIndices,      // diagonal_forms
    Einsum,                                                                    // einsum
    LinalgLdlFactorEx, LinalgLdlSolve,                                         // ldl
    LinalgLstsq,                                                               // least_squares
    LinalgLuFactor, LinalgLu, LinalgLuUnpack, LinalgLuSolve,                   // lu
    Matmul,                                                                    // matmul
    LinalgMatrixExp,                                                           // matrix_exp
    LinalgMatrixSqrth, LinalgPolar,                                            // matrix_roots
    LinalgVectorNorm, LinalgMatrixNorm,                                        // norms
    Vecdot, Dot, Outer, Kron, Cross, Tensordot, LinalgMatrixPower,             // products
    LinalgPinv, LinalgMatrixRank,                                              // pseudoinverse
    LinalgGeqrf, LinalgHouseholderProduct, LinalgOrmqr,                        // reflections
    LinalgSolve, LinalgSolveEx, LinalgSolveTriangular, LinalgInv, LinalgInvEx  // solve
    >;

}  // namespace lamella
