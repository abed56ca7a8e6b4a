#pragma once

#include "ops/creation/creation.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/composed.h"
#include "ops/elementwise/composed_special.h"
#include "ops/elementwise/frexp.h"
#include "ops/elementwise/gelu.h"
#include "ops/fft/fft.h"
#include "ops/fft/stft.h"
#include "ops/index/gather.h"
#include "ops/index/index.h"
#include "ops/index/nonzero.h"
#include "ops/index/place.h"
#include "ops/index/ravel.h"
#include "ops/index/select.h"
#include "ops/index/take.h"
#include "ops/linalg/addmm.h"
#include "ops/linalg/cholesky.h"
#include "ops/linalg/decompositions.h"
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
#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/nn/activation.h"
#include "ops/nn/attention.h"
#include "ops/nn/channels.h"
#include "ops/nn/conv.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/ctc.h"
#include "ops/nn/distance.h"
#include "ops/nn/dropout.h"
#include "ops/nn/embedding.h"
#include "ops/nn/grid_sample.h"
#include "ops/nn/interpolate.h"
#include "ops/nn/label_losses.h"
#include "ops/nn/linear.h"
#include "ops/nn/loss.h"
#include "ops/nn/margin_loss.h"
#include "ops/nn/norm.h"
#include "ops/nn/one_hot.h"
#include "ops/nn/pad.h"
#include "ops/nn/pool.h"
#include "ops/nn/recurrent.h"
#include "ops/nn/similarity.h"
#include "ops/nn/softmax.h"
#include "ops/nn/unfold.h"
#include "ops/random/distributions.h"
#include "ops/random/in_place.h"
#include "ops/random/random.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/log_sum_exp.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/summary.h"
#include "ops/reduce/variance.h"
#include "ops/scan/cumulative.h"
#include "ops/scan/gradient.h"
#include "ops/shape/arrange.h"
#include "ops/shape/assemble.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/sort/consecutive.h"
#include "ops/sort/histogram.h"
#include "ops/sort/histogram_grid.h"
#include "ops/sort/quantiles.h"
#include "ops/sort/search.h"
#include "ops/sort/sort.h"
#include "ops/sort/unique.h"
#include "ops/special/functions.h"
#include "ops/special/incomplete_gamma.h"
#include "ops/special/polynomials.h"

namespace lamella {

/// All operators that are not elementwise.
using OtherOps = OpList<  //
    Zeros, Ones, Full, Empty, ZerosLike, OnesLike, FullLike, EmptyLike, Arange, Linspace, Logspace, Eye, Tril,
    Triu,                                                        // creation
    Rand, Randn, Uniform, Normal, RandInt, RandPerm, Bernoulli,  // random
    Exponential, Laplace, Cauchy, LogNormal, Geometric, TruncatedNormal, Gamma, Poisson, Multinomial, Permutation,
    RandLike, RandnLike, RandIntLike, UniformInPlace, NormalInPlace, ExponentialInPlace, BernoulliInPlace,
    RandomInPlace, CauchyInPlace, LogNormalInPlace, GeometricInPlace, Dropout1d, Dropout2d, Dropout3d, AlphaDropout,
    FeatureAlphaDropout, Cast, AsType, Clone, Contiguous, ToDevice,  // movement
    AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, CopyInPlace, FillInPlace, ZeroInPlace,
    MaskedFillInPlace,                                                                                  //
    Reshape, Flatten, Squeeze, ExpandDims, BroadcastTo, SumTo, PermuteDims, MatrixTranspose, SwapAxes,  // shape
    Concat, Stack, Split, Flip, Roll,                                                                   //
    Take, TakeAlongAxis, Nonzero,                                                                       // indexing
    Gather, Scatter, ScatterAdd, ScatterReduce, PutAlongAxis,                                           //
    IndexSelect, IndexAdd, IndexCopy, IndexFill, IndexPut, MaskedSelect, MaskedScatter, MaskedFill,     //
    MoveAxis, Repeat, Tile, Unstack, Chunk, TensorSplit, Narrow, Select, HStack, VStack,                // shape
    AtLeast1d, AtLeast2d, AtLeast3d, BroadcastArrays, Meshgrid,                                         //
    Sum, Mean, Prod, Max, Min, ArgMax, ArgMin, Any, All,                                                // reduction
    Relu6, Prelu, Glu, Softmin, GumbelSoftmax,                                                          // activations
    L1Loss, SmoothL1Loss, HuberLoss, BinaryCrossEntropy, BinaryCrossEntropyWithLogits, KlDiv,           // losses
    PoissonNllLoss, GaussianNllLoss, SoftMarginLoss, NllLoss, CtcLoss, HingeEmbeddingLoss,              //
    MarginRankingLoss, CosineEmbeddingLoss, TripletMarginLoss, MultiMarginLoss,                         //
    CosineSimilarity, PairwiseDistance, Embedding, EmbeddingBag, ScaledDotProductAttention,             //
    RnnCell, LstmCell, GruCell, Rnn, Lstm, Gru,                                                         // recurrent
    Pad, Unfold, Fold, PixelShuffle, PixelUnshuffle, Interpolate, GridSample, AffineGrid,               // images
    Matmul, Linear,                                                                                     // products
    Vecdot, Dot, Outer, Kron, Cross, Tensordot, Einsum, Diagonal, Trace,                                //
    LinalgCholesky, LinalgQr, LinalgEigh, LinalgEigvalsh, LinalgEig, LinalgEigvals, LinalgSvd, LinalgSvdvals,  // linalg
    LinalgSolve, LinalgSolveTriangular, LinalgInv, LinalgDet, LinalgSlogdet, LinalgPinv,                       //
    LinalgMatrixRank, LinalgMatrixPower, LinalgVectorNorm, LinalgMatrixNorm,                                   //
    LinalgCholeskyEx, LinalgCholeskySolve, LinalgCholeskyInverse, LinalgSolveEx, LinalgInvEx, LinalgLdlFactorEx,
    LinalgLdlSolve, LinalgMatrixSqrth, LinalgPolar, LinalgGeqrf,                            //
    LinalgHouseholderProduct, LinalgOrmqr,                                                  //
    LinalgLuFactor, LinalgLu, LinalgLuUnpack, LinalgLuSolve, LinalgLstsq, LinalgMatrixExp,  //
    Stft, Istft, ModeValue, Unique,                                                         //
    FftComplexToComplex, FftRealToComplex, FftComplexToReal,                                // fft
    Positive, Deg2Rad, Rad2Deg, Logit, Polygamma, IsClose, AllClose, NanToNum,              // composed
    Clip, Gelu,                                                                             // of several formulas
    Conv<1>, Conv<2>, Conv<3>, ConvTranspose<1>, ConvTranspose<2>, ConvTranspose<3>,        // convolution
    MaxPool<1>, MaxPool<2>, MaxPool<3>, AvgPool<1>, AvgPool<2>, AvgPool<3>, LpPool<1>, LpPool<2>, LpPool<3>,
    MaxPoolWithIndices<1>, MaxPoolWithIndices<2>, MaxPoolWithIndices<3>, AdaptiveAvgPool<1>, AdaptiveAvgPool<2>,
    AdaptiveAvgPool<3>, AdaptiveMaxPool<1>, AdaptiveMaxPool<2>, AdaptiveMaxPool<3>, AdaptiveMaxPoolWithIndices<1>,
    AdaptiveMaxPoolWithIndices<2>, AdaptiveMaxPoolWithIndices<3>, LayerNorm, RmsNorm, GroupNorm, InstanceNorm,
    BatchNorm, LocalResponseNorm,                                                                   // normalization
    CountNonzero, Var, Std, LogSumExp, NanSum, NanMean,                                             // statistics
    CumulativeSum, CumulativeProd, CumSum, CumProd, LogCumSumExp, CumMax, CumMin, Diff,             // scans
    Sort, ArgSort, TopK, KthValue, Median, NanMedian, Quantile,                                     // sorting
    SearchSorted, IsIn, UniqueAll, UniqueCounts, UniqueInverse, UniqueValues, BinCount, Histogram,  // searching, sets
    DStack, ColumnStack, HSplit, VSplit, DSplit, FlipLr, FlipUd, Rot90, Ravel, Unflatten, SlidingWindow,  // shape
    BlockDiag, CartesianProd, Combinations,                                                               //
    Mm, Mv, Bmm, Inner, Addmm, Addmv, Addr, Baddbmm, Addbmm,                                              // products
    Diag, DiagEmbed, DiagFlat, DiagonalScatter, TrilIndices, TriuIndices,                                 // diagonals
    NumericalGradient, Frexp, UnravelIndex, RavelMultiIndex, UniqueConsecutive, Histc, HistogramDd, NanQuantile,
    Percentile, NanPercentile,                                                                             // numpy's
    SelectScatter, SliceScatter, Put, IndexReduce, ArgWhere, NonzeroStatic,                                // indexing
    VarMean, StdMean, AMinMax, Trapezoid, CumulativeTrapezoid, Cov, CorrCoef, Bucketize,                   // statistics
    IsPosInf, IsNegInf, IsReal, Xlog1py, Entr, Ndtr, MvLgamma, Ldexp, FloatPower, Gcd, Lcm,                // composed
    I0, I0e, I1, I1e, ModifiedBesselK0, ModifiedBesselK1, ScaledModifiedBesselK0, ScaledModifiedBesselK1,  // special
    BesselJ0, BesselJ1, BesselY0, BesselY1, SphericalBesselJ0, AiryAi, Erfcx, Ndtri, LogNdtr, GammaInc, GammaIncC,
    ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedChebyshevT, ShiftedChebyshevU, ShiftedChebyshevV,
    ShiftedChebyshevW, HermiteH, HermiteHe, LaguerreL, LegendreP,            //
    RealPart, ImaginaryPart, MakeComplex, Polar, ViewAsReal, ViewAsComplex,  // complex
    Cdist, Pdist, Dist, Normalize, Renorm,                                   // distances
    MultiLabelMarginLoss, MultiLabelSoftMarginLoss, Bilinear, ChannelShuffle, MaxUnpool<1>, MaxUnpool<2>,
    MaxUnpool<3>,                                                //
    Softmax, LogSoftmax, CrossEntropy, MseLoss, OneHot, Dropout  // networks
    >;

}  // namespace lamella
