"""Compiled functions against the same functions as they are: whatever Python does beside computing is kept.

Each case makes a function and what changes between its calls. It is run twice, once compiled, with the same changes;
results, gradients, printed text and all state that the case names have to be the same after every call.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import effect_cases  # noqa: F401 (registers its cases)
import pytest
import reading_cases  # noqa: F401 (registers its cases)
import side_effects
import state_cases  # noqa: F401 (registers its cases)
import training_cases  # noqa: F401 (registers its cases)

import lamella as lm

CASES = side_effects.CASES

#: Cases whose calls all run as they are; each of the others has a graph at the end.
AS_THEY_ARE = frozenset(
    [
        "a_default_that_grows",
        "a_deque",
        "a_py_layer_given_a_closure",
        "a_py_layer_that_fills_a_list",
        "a_stateful_iterator",
        "a_transform_inside",
        "an_argument_that_is_also_read",
        "appended_losses",
        "argument_that_grows",
        "argument_that_takes_a_result",
        "array_argument",
        "array_written_by_a_function",
        "attribute_by_a_computed_name",
        "attribute_getter",
        "attribute_of_an_argument",
        "attributes_of_functions",
        "autocast_inside",
        "branch_after_a_write",
        "branch_after_random_numbers",
        "branch_after_running_statistics",
        "buffer_in_the_middle",
        "checkpoint_inside",
        "counter_in_a_closure",
        "counter_in_an_attribute",
        "dataclass_results",
        "deterministic_algorithms",
        "digits_of_decimal_numbers",
        "environment",
        "errors_of_numpy",
        "files_of_numpy",
        "generator_of_numpy",
        "global_counter",
        "hook_inside",
        "inference_inside",
        "item_in_arithmetic",
        "list_in_the_middle",
        "mode_that_stays",
        "number_argument_of_many_values",
        "number_of_threads",
        "numpy_in_the_middle",
        "order_of_rows_by_value",
        "print_numbers",
        "print_values",
        "random_array_of_numpy",
        "random_of_numpy",
        "random_of_python",
        "rebound_hidden_state",
        "schedule_that_is_read",
        "seed_inside",
        "sizes_that_depend_on_elements",
        "stop_gradient_inside",
        "suppressed_exception_after_a_write",
        "text_in_the_middle",
        "the_clock",
        "the_same_tensor_twice",
        "try_and_except",
        "weak_dictionary",
        "weak_reference",
        "work_of_another_thread",
    ]
)


@pytest.mark.parametrize("name", sorted(CASES))
def test_compiled_functions_do_what_they_did(name):
    make = CASES[name]
    expected, _ = side_effects.history(make, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        got, compiled = side_effects.history(make, True)
    for i, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert _close(a, b), f"call {i}: as it is {a}, compiled {b}"
    explanation = lm.compile.explain(compiled)
    assert bool(explanation.graphs) == (name not in AS_THEY_ARE), str(explanation)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-6)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b
