"""List of intended differences from PyTorch: each finding of a comparison is held against it."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One sample that shows a difference."""

    kind: str
    dtype: str  # empty for bad input, which has no single dtype
    text: str


@dataclass(frozen=True)
class Judgement:
    """Why operators differ.

    All but the reason are patterns with wildcards; of operators and dtypes there may be several, with commas.
    """

    operators: str
    kind: str
    because: str
    dtypes: str = "*"
    text: str = "*"

    def explains(self, operator: str, finding: Finding) -> bool:
        return (
            _matches(operator, self.operators)
            and _matches(finding.dtype, self.dtypes)
            and _matches(finding.kind, self.kind)
            and fnmatch.fnmatchcase(finding.text, self.text)
        )


def _matches(name: str, patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern.strip()) for pattern in patterns.split(","))


def judged(operator: str, finding: Finding) -> str | None:
    """The reason for a finding; None where there is none on the list."""
    return next((one.because for one in JUDGEMENTS if one.explains(operator, finding)), None)


HALVES = "float16,bfloat16"
WHOLE = "int8,int16,int32,int64,uint8,bool"
#: Dtypes with few values, of which many elements of a sample are equal.
COARSE = f"{WHOLE},{HALVES}"

JUDGEMENTS: list[Judgement] = [
    # Inputs that Lamella accepts.
    Judgement(
        "*", "bad input taken", "numbers are taken where PyTorch wants tensors", text="*must be Tensor, not int*"
    ),
    Judgement("*", "bad input taken", "numbers are taken where PyTorch wants tensors", text="2, int64[[]3]: *"),
    Judgement("*", "bad input taken", "numbers are taken where PyTorch wants tensors", text="2, 3: *"),
    Judgement("amax,amin,aminmax", "bad input taken", "there may be more than 64 axes", text="*up to 64 dims*"),
    Judgement("arange", "bad input taken", "a range that ends before it begins is empty", text="*with step sign*"),
    Judgement(
        "cat,gather,take",
        "bad input taken",
        "`out` may share memory with what is read",
        text="*single memory location*",
    ),
    Judgement("gather", "bad input taken", "`out` may have another dtype", text="*Expected out tensor to have dtype*"),
    Judgement(
        "amax,amin", "bad input taken", "`out` may have another dtype", text="*Expected the dtype for input and out*"
    ),
    Judgement("scalar_tensor", "raises ValueError", "numbers that do not fit do not wrap around", "uint8", "-*"),
    Judgement("mean", "bad input taken", "integers are taken as float32", text="int64*"),
    Judgement("linalg.cross", "bad input taken", "vectors broadcast", text="*same number of dimensions*"),
    Judgement("trace", "bad input taken", "matrices may be stacked", text="*expected a matrix*"),
    Judgement("roll", "bad input taken", "one axis is repeated for several shifts", text="*must align*"),
    Judgement("gradient", "bad input taken", "one number is the spacing of all axes, as numpy's", text="*of length 1*"),
    Judgement(
        "nn.functional.conv?d",
        "bad input taken",
        "arguments of several dtypes are promoted",
        text="*should be the same",
    ),
    Judgement("nn.functional.group_norm", "bad input taken", "what is empty stays so", text="*to be greater than 0*"),
    Judgement("nn.functional.max_pool?d", "bad input taken", "what is empty stays so", text="*float32[[]0, 1*"),
    Judgement("log_normal", "bad input taken", "a standard deviation may be 0", text="*std=0"),
    Judgement("signal.windows.*", "bad input taken", "there are no layouts", text="*layout=torch.sparse*"),
    Judgement("signal.windows.*", "bad input taken", "windows may have any floating dtype", text="*dtypes, got: *"),
    # Results of other dtypes.
    Judgement("all,any", "dtype", "what holds is bool", "uint8"),
    Judgement(
        "sum,nansum,prod,cumsum,cumprod,trace,sum_to_size,linalg.vander",
        "dtype",
        "sums and products of unsigned integers are uint64",
        "uint8",
        "*dtype uint64 for int64",
    ),
    Judgement("sum_to_size", "dtype", "what has the size is left as it is", WHOLE, "*[[][]], (): dtype *"),
    Judgement("einsum", "dtype", "einsum keeps its operands' dtype, as numpy's", WHOLE, "* for int64"),
    Judgement(
        "nn.functional.hardtanh", "dtype", "settings that are floats make integers floats", WHOLE, "*float32 for *"
    ),
    Judgement("nn.functional.local_response_norm", "dtype", "what would be a fraction is float32", "int64"),
    Judgement(
        "addbmm,addmv,baddbmm,masked_fill",
        "raises TypeError",
        "numbers of a higher kind than the tensor's are not written into it",
        WHOLE,
    ),
    Judgement("complex,polar,view_as_complex", "raises TypeError", "there are no complex numbers of halves", "float16"),
    Judgement(
        "nn.functional.*alpha_dropout",
        "raises TypeError",
        "dropout that keeps the variance is for floats",
        f"complex64,complex128,{WHOLE}",
    ),
    # Ranges of integers with fractions, and numbers that wrap around.
    Judgement(
        "arange,linspace,logspace",
        "values",
        "fractions of ranges of integers are cut off at the end, as numpy's",
        WHOLE,
    ),
    Judgement(
        "*trapezoid,trapz,nn.functional.pairwise_distance,nn.functional.triplet_*,nn.functional.softmin",
        "values",
        "differences of small integers do not wrap around",
        "uint8,int8",
    ),
    Judgement("*polygamma", "values", "at its poles it is infinite, of integers, too", WHOLE, "*values: inf for *"),
    # Order of equal elements.
    Judgement("argsort,sort,topk,kthvalue,mode,median,nanmedian", "values", "places of equal elements", COARSE),
    Judgement("msort", "gradient values", "places of equal elements", HALVES),
    Judgement(
        "nn.functional.max_unpool?d", "gradient values", "several values were written to one place", text="* 0 for *"
    ),
    # Arguments for axes.
    Judgement("gather", "raises ValueError", "tensors and indices have equally many axes"),
    Judgement("cat", "raises IndexError", "a tensor of no elements and one axis is joined with its like only"),
    Judgement(
        "squeeze,squeeze_copy", "raises *Error", "axes that are not there, or longer than 1, cannot be taken away"
    ),
    Judgement("nonzero", "raises ValueError", "a number has no axis to name places of", text="*[[][]], as_tuple=True*"),
    Judgement(
        "tensordot", "raises ValueError", "axes that are summed over do not broadcast", text="*different lengths*"
    ),
    Judgement("nn.functional.batch_norm", "raises ValueError", "there is an axis of channels", text="*[[]0], *"),
    Judgement(
        "nn.functional.feature_alpha_dropout",
        "raises ValueError",
        "there is an axis of channels",
        text="*at least 2 axes*",
    ),
    # Gradients that are 0 everywhere.
    Judgement("div", "no gradient", "rounded quotients have none", text="*rounding_mode=*"),
    Judgement("nextafter", "no gradient", "PyTorch says it has one, and then has not"),
    Judgement("fill,zero_", "no gradient", "what is overwritten has none"),
    # Results in which PyTorch loses digits, or all of them.
    Judgement("histc,histogramdd", "*", "edges of bins: see docs/coming-from-pytorch.md"),
    Judgement("nn.functional.interpolate,nn.functional.upsample_bilinear", "values", "uint8 is rounded once", "uint8"),
    Judgement("special.bessel_*", "values", "PyTorch's have five or six digits", "float64"),
    Judgement("special.ndtr", "values", "PyTorch's is 0 where it is small", text="*e-1? for 0 at *"),
    Judgement("sinc", "values", "it is 0 at whole numbers but 0", WHOLE),
    Judgement("logsumexp", "gradient values", "PyTorch's loses digits of large complex numbers", "complex64"),
    Judgement("renorm", "gradient values", "PyTorch's is NaN", "complex64", "* for nan*"),
    Judgement("istft", "gradient values", "PyTorch's window has none where it is padded", text="* for 0 at *"),
    Judgement("cov", "values", "weights of another dtype: PyTorch sums them in theirs", "float64,complex128"),
    Judgement(
        "matrix_exp,nn.functional.soft_margin_loss", "values", "halves are computed in float32", HALVES, "*for [in]*"
    ),
    Judgement("*", "gradient values", "halves are computed in float32: PyTorch's overflows", HALVES, "* for *inf at *"),
    Judgement("*", "gradient values", "halves are computed in float32: PyTorch's is NaN", HALVES, "* for nan at *"),
    Judgement(
        "linalg.vector_norm,logcumsumexp,nn.functional.hinge_embedding_loss,sinc",
        "gradient values",
        "halves are computed in float32: PyTorch's loses digits",
        HALVES,
    ),
    # Gradients that rounding alone keeps from being 0, or that are the difference of large numbers.
    Judgement(
        "corrcoef,cov,nn.functional.batch_norm,nn.functional.cosine_similarity,nn.functional.group_norm,"
        "nn.functional.layer_norm,nn.functional.normalize",
        "gradient values",
        "large numbers that cancel, of which rounding is left",
        HALVES,
    ),
    Judgement("cov", "gradient values", "large numbers that cancel, of which rounding is left", text="*, aweights=*"),
    Judgement(
        "nn.functional.layer_norm,nn.functional.normalize",
        "gradient values",
        "large numbers that cancel, of which rounding is left",
        "float32",
        "*values: * for 0.00012207 at 0 of 1",
    ),
    Judgement(
        "nn.functional.normalize",
        "gradient values",
        "large numbers that cancel, of which rounding is left",
        "float32",
        "*e-06 for 0 at *",
    ),
    Judgement(
        "signal.windows.blackman", "values", "large numbers that cancel, of which rounding is left", text="*e-17 for *"
    ),
    # Other differences by design.
    Judgement("nn.functional.scaled_dot_product_attention", "values", "random numbers", text="*dropout_p=0.[!0]*"),
    Judgement("stft", "raises ValueError", "results are complex", text="*return_complex=False*"),
]
