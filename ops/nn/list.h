#pragma once

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
#include "ops/op_info.h"

namespace lamella {

/// Operators of neural networks: layers, activations of several formulas, losses.
using NnOps = OpList<                                                                 //
    Relu6, Prelu, Glu,                                                                // activation
    ScaledDotProductAttention,                                                        // attention
    Bilinear, ChannelShuffle, MaxUnpool<1>, MaxUnpool<2>, MaxUnpool<3>,               // channels
    Conv<1>, Conv<2>, Conv<3>, ConvTranspose<1>, ConvTranspose<2>, ConvTranspose<3>,  // conv
    CrossEntropy, NllLoss,                                                            // cross_entropy
    CtcLoss,                                                                          // ctc
    Cdist, Pdist, Dist, Normalize, Renorm,                                            // distance
    Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout,      // dropout
    Embedding, EmbeddingBag,                                                          // embedding
    GridSample, AffineGrid,                                                           // grid_sample
    Interpolate, DynamicInterpolate,                                                  // interpolate
    MultiLabelMarginLoss, MultiLabelSoftMarginLoss,                                   // label_losses
    Linear,                                                                           // linear
    MseLoss, L1Loss, SmoothL1Loss, HuberLoss, BinaryCrossEntropy, BinaryCrossEntropyWithLogits, KlDiv, PoissonNllLoss,
    GaussianNllLoss, SoftMarginLoss,                                                                 // loss
    HingeEmbeddingLoss, MarginRankingLoss, CosineEmbeddingLoss, TripletMarginLoss, MultiMarginLoss,  // margin_loss
    LayerNorm, RmsNorm, GroupNorm, InstanceNorm, BatchNorm,                                          // norm
    OneHot,                                                                                          // one_hot
    Pad,                                                                                             // pad
    MaxPool<1>, MaxPool<2>, MaxPool<3>, MaxPoolWithIndices<1>, MaxPoolWithIndices<2>, MaxPoolWithIndices<3>, AvgPool<1>,
    AvgPool<2>, AvgPool<3>, LpPool<1>, LpPool<2>, LpPool<3>, AdaptiveAvgPool<1>, AdaptiveAvgPool<2>, AdaptiveAvgPool<3>,
    AdaptiveMaxPool<1>, AdaptiveMaxPool<2>, AdaptiveMaxPool<3>, AdaptiveMaxPoolWithIndices<1>,
    AdaptiveMaxPoolWithIndices<2>, AdaptiveMaxPoolWithIndices<3>, LocalResponseNorm,  // pool
    RnnCell, LstmCell, GruCell, Rnn, Lstm, Gru,                                       // recurrent
    CosineSimilarity, PairwiseDistance,                                               // similarity
    Softmax, LogSoftmax, Softmin, GumbelSoftmax,                                      // softmax
    Unfold, Fold, PixelShuffle, PixelUnshuffle                                        // unfold
    >;

}  // namespace lamella
