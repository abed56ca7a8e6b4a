"""``paddle.incubate.nn`` of the front: functions and layers of several operations, against those that they are made of.

Numbers without a formula here are those of Paddle on a CPU.
"""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
import paddle.incubate.nn.functional as I
import paddle.nn.functional as F
from numpy.testing import assert_allclose
from paddle.incubate import nn as fused

rng = np.random.default_rng(3)


def numbers(*shape):
    return paddle.to_tensor(rng.standard_normal(shape).astype("float32"), stop_gradient=False)


def close(made, wanted):
    assert_allclose(made.numpy(), wanted.numpy(), rtol=2e-5, atol=2e-6)


def raises(kind, words, function):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(words)


x, y, weight, bias = numbers(2, 4, 6), numbers(2, 4, 6), numbers(6, 8), numbers(8)
scale, shift = numbers(6), numbers(6)
"""
PROGRAMS = {
    "products": """
        close(I.fused_linear(x, weight, bias), F.linear(x, weight, bias))
        close(I.fused_linear(x, weight.t(), bias, transpose_weight=True), F.linear(x, weight, bias))
        close(I.fused_matmul_bias(weight, weight, None, True), paddle.matmul(weight, weight, True))
        close(I.fused_linear_activation(x, weight, bias, activation="gelu"), F.gelu(F.linear(x, weight, bias)))
        raises(ValueError, "fused_linear_activation tanh", lambda: I.fused_linear_activation(x, weight, bias,
                                                                                           activation="tanh"))
        layer = fused.FusedLinear(6, 8, transpose_weight=True)
        assert layer.weight.shape == [8, 6]
        close(layer(x), F.linear(x, layer.weight.t(), layer.bias))
        I.fused_linear(x, weight, bias).sum().backward()
        assert_allclose(bias.grad.numpy(), 8.0)
        """,
    "activations": """
        close(I.swiglu(x, y), F.silu(x) * y)
        close(I.fused_bias_act(x, scale), F.gelu(x + scale))
        close(I.fused_bias_act(x, act_method="swiglu"), F.silu(x[..., :3]) * x[..., 3:])
        close(I.fused_bias_act(x, act_method="geglu"), F.gelu(x[..., :3]) * x[..., 3:])
        raises(NotImplementedError, "fused_bias_act", lambda: I.fused_bias_act(x, quant_scale=0.5))
        """,
    "normalizations": """
        total = x + shift + 0.5 * y
        made, plain, mean, inverse = I.fused_layer_norm(x, scale, shift, 1e-5, 0.5, 2, shift, y)
        close(made, F.layer_norm(total, 6, scale, shift))
        close(plain, total)
        close(mean, total.mean(-1).flatten())
        close(inverse, paddle.rsqrt(total.var(-1, unbiased=False) + 1e-5).flatten())
        assert I.fused_layer_norm(x, scale, shift, 1e-5, begin_norm_axis=2)[1] is None
        close(I.fused_layer_norm(x, None, None, 1e-5, begin_norm_axis=2, residual=y)[0], x + y)
        square = numbers(24)
        close(I.fused_layer_norm(x, square, square, 1e-5)[0],
              F.layer_norm(x, [4, 6], square.reshape([4, 6]), square.reshape([4, 6])))
        total = x + shift + y
        made, plain = I.fused_rms_norm(x, scale, shift, 1e-5, 2, shift, y)
        close(made, total * paddle.rsqrt((total * total).mean(-1, keepdim=True) + 1e-5) * scale + shift)
        close(plain, total)
        """,
    "dropout": """
        for mode, factor in (("upscale_in_train", 1.0), ("downscale_in_infer", 0.5)):
            layer = fused.FusedDropoutAdd(0.5, mode)
            layer.eval()
            close(layer(x, y), x * factor + y)
            made = I.fused_dropout_add(paddle.ones([1000]), paddle.zeros([1000]), 0.5, True, mode)
            assert set(made.tolist()) == {0.0, 2.0 if factor == 1.0 else 1.0}
        layer = fused.FusedBiasDropoutResidualLayerNorm(6, 0.0)
        close(layer(x, y), F.layer_norm(x + y, 6))
        assert str(layer) == "FusedBiasDropoutResidualLayerNorm(embed_dim=6, dropout_rate=0.0, epsilon=1e-05)", layer
        """,
    "rotations": """
        q, k = numbers(2, 5, 3, 4), numbers(2, 5, 1, 4)
        angles = paddle.arange(5, dtype="float32").unsqueeze(1) * paddle.to_tensor([1.0, 0.01])
        turns = paddle.complex(paddle.cos(angles), paddle.sin(angles)).reshape([1, 5, 1, 2])
        wanted = [paddle.as_real(paddle.as_complex(each.reshape([*each.shape[:3], 2, 2])) * turns).reshape(each.shape)
                  for each in (q, k)]
        made = I.fused_rotary_position_embedding(q, k)
        assert made[2] is None
        for each, other in zip(made, wanted):
            close(each, other)
        neighbors = paddle.repeat_interleave(angles, 2, axis=1)
        halves = paddle.concat([angles, angles], axis=1)
        order = [0, 2, 1, 3]
        moved = I.fused_rotary_position_embedding(q.transpose([1, 0, 2, 3]), time_major=True)[0]
        close(moved.transpose([1, 0, 2, 3]), wanted[0])
        apart = I.fused_rotary_position_embedding(
            q[..., order], sin=paddle.sin(halves), cos=paddle.cos(halves), use_neox_rotary_style=False)[0]
        close(apart[..., order], wanted[0])
        places = paddle.to_tensor([[4, 3, 2, 1, 0]] * 2)
        sin, cos = (each.reshape([1, 5, 1, 4]) for each in (paddle.sin(neighbors), paddle.cos(neighbors)))
        back = I.fused_rotary_position_embedding(q.flip(1), sin=sin, cos=cos, position_ids=places)[0]
        close(back.flip(1), wanted[0])
        raises(ValueError, "sin cos", lambda: I.fused_rotary_position_embedding(q, sin=sin))
        raises(ValueError, "sin cos", lambda: I.fused_rotary_position_embedding(q, use_neox_rotary_style=False))
        """,
    "a layer of an encoder": """
        for before in (False, True):
            for activation in ("relu", "gelu"):
                one = fused.FusedTransformerEncoderLayer(6, 2, 8, 0.0, activation, normalize_before=before)
                other = paddle.nn.TransformerEncoderLayer(6, 2, 8, 0.0, activation, normalize_before=before)
                for each in one.parameters():
                    each.set_value(numbers(*each.shape) * 0.5)
                attention, ffn = one.fused_attn, one.ffn
                parts = attention.qkv_weight.reshape([3, 6, 6])
                for place, name in enumerate(("q_proj", "k_proj", "v_proj")):
                    layer = getattr(other.self_attn, name)
                    layer.weight.set_value(parts[place].t())
                    layer.bias.set_value(attention.qkv_bias[place].flatten())
                behind = {
                    other.self_attn.out_proj: (attention.linear_weight, attention.linear_bias),
                    other.linear1: (ffn._linear1_weight, ffn._linear1_bias),
                    other.linear2: (ffn._linear2_weight, ffn._linear2_bias),
                    other.norm1: ((attention.pre_ln_scale, attention.pre_ln_bias) if before else
                                  (attention.ln_scale, attention.ln_bias)),
                    other.norm2: (ffn._ln1_scale, ffn._ln1_bias) if before else (ffn._ln2_scale, ffn._ln2_bias),
                }
                for layer, (first, second) in behind.items():
                    layer.weight.set_value(first)
                    layer.bias.set_value(second)
                mask = numbers(2, 1, 4, 4)
                close(one(x, mask), other(x, mask))
                one(x, mask).sum().backward()
                assert all(each.grad is not None for each in one.parameters())
        """,
    "attention with a cache, or with weights as a matrix": """
        layer = fused.FusedMultiHeadAttention(6, 2, 0.0, 0.0, normalize_before=True)
        whole = layer(x, attn_mask=paddle.triu(paddle.full([4, 4], -1e9), 1))
        cache, found = paddle.zeros([2, 2, 2, 0, 3]), []
        for place in range(4):
            made, cache = layer(x[:, place:place + 1], cache=cache)
            found.append(made)
        close(paddle.concat(found, axis=1), whole)
        assert cache.shape == [2, 2, 2, 4, 3]
        flat = layer.qkv_weight.reshape([18, 6]).t()
        made = I.fused_multi_head_attention(
            x, flat, layer.linear_weight, True, layer.pre_ln_scale, layer.pre_ln_bias, linear_bias=layer.linear_bias,
            qkv_bias=layer.qkv_bias.flatten(), dropout_rate=0.0, attn_dropout_rate=0.0, num_heads=2,
            transpose_qkv_wb=True)
        close(made, layer(x))
        raises(ValueError, "num_heads", lambda: I.fused_multi_head_attention(x, flat, layer.linear_weight,
                                                                            transpose_qkv_wb=True))
        raises(ValueError, "embed_dim 6 4", lambda: fused.FusedMultiHeadAttention(6, 4))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_fused(program):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(PROGRAMS[program])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
