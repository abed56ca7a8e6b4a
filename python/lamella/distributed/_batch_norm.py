"""Batch normalization over the samples of several processes."""

from __future__ import annotations

import lamella as lm

from .._C import _ProcessGroup as ProcessGroup


def batch_norm_over(
    x: lm.Tensor,
    running_mean: lm.Tensor | None,
    running_var: lm.Tensor | None,
    weight: lm.Tensor | None,
    bias: lm.Tensor | None,
    momentum: float,
    eps: float,
    group: ProcessGroup,
) -> lm.Tensor:
    """Returns what :func:`lamella.batch_norm` gives in training for the samples of all processes together.

    The processes exchange their numbers of samples, means and sums of squared deviations, which are joined as in Chan,
    Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.

    Args:
        x: Shape ``(n, channels, *size)``; n may differ between processes.
        running_mean: Shape ``(channels,)``, updated in place, or None.
        running_var: Shape ``(channels,)``, updated in place, or None.
        weight: Shape ``(channels,)``, or None for 1.
        bias: Shape ``(channels,)``, or None for 0.
        momentum: The share of this batch in the running statistics.
        eps: Added to the variance.
        group: The processes.

    Raises:
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    values = x.astype("float32") if x.dtype.itemsize == 2 else x
    channels = x.shape[1]
    axes = [0, *range(2, x.ndim)]
    wide = [1, channels] + [1] * (x.ndim - 2)
    count = x.size // channels
    own_mean = values.sum(axes) / max(count, 1)
    own_spread = (values - own_mean.reshape(wide)).square().sum(axes)
    own = lm.concat([lm.full([1], count, dtype=values.dtype, device=x.device), own_mean, own_spread])
    all_of_them = lm.distributed.all_gather(own.expand_dims(0), sizes=[1] * group.size, group=group)
    counts, means, spreads = all_of_them.split([1, channels, channels], 1)
    total = counts.sum()
    mean = (counts * means).sum(0) / total
    var = (spreads + counts * (means - mean).square()).sum(0) / total
    with lm.no_grad():
        for running, new in ((running_mean, mean), (running_var, var * (total / (total - 1)))):
            if running is not None:
                running.mul_(1 - momentum).add_(momentum * new.astype(running.dtype))
    y = (values - mean.reshape(wide)) * lm.rsqrt(var + eps).reshape(wide)
    if weight is not None:
        y = y * weight.reshape(wide)
    if bias is not None:
        y = y + bias.reshape(wide)
    return y.astype(x.dtype)
