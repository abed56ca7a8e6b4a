"""Parameters and inference programs in files: what comes back, and files that are damaged."""

import json

import numpy as np
import pytest

import lamella as lm
from lamella import io, static


def network():
    x, label = static.data("x", [-1, 1, 6, 6]), static.data("label", [-1, 1], "int64")
    hidden = static.nn.batch_norm(static.nn.conv2d(x, 3, 3, padding=1, act="relu"))
    hidden = static.nn.dropout(hidden, 0.3)
    scores = static.nn.fc(hidden, 4)
    loss = lm.cross_entropy(scores, lm.squeeze(label, 1))
    return x, label, scores, loss


@pytest.fixture
def trained(bench, rng):
    x, label, scores, loss = network()
    test = bench.main.clone(for_test=True)
    lm.optim.Adam(bench.main.all_parameters(), 0.01).minimize(loss)
    bench.start()
    feed = {"x": rng.normal(size=(8, 1, 6, 6)).astype("float32"), "label": rng.integers(0, 4, (8, 1))}
    for _ in range(3):
        bench.run(feed, [loss])
    bench.feed, bench.x, bench.label, bench.scores, bench.loss, bench.test = feed, x, label, scores, loss, test
    return bench


def test_inference_programs(trained, tmp_path):
    prefix = str(tmp_path / "folder" / "model")
    static.save_inference_model(prefix, [trained.x], [trained.scores], trained.executor)
    (expected,) = trained.run(trained.feed, [trained.scores], program=trained.test)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["model.model.safetensors"]
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(prefix, trained.executor)
        assert feeds == ["x"] and [each.name for each in fetches] == [trained.scores.name]
        (found,) = trained.executor.run(program, {feeds[0]: trained.feed["x"]}, fetches)
        np.testing.assert_array_equal(found, expected)
        assert "label" not in str(program) and "gradients" not in str(program)
        # It is saved again as it is.
        static.save_inference_model(str(tmp_path / "again"), [program.global_block().var("x")], fetches)
    with static.scope_guard(static.Scope()):
        again, feeds, fetches = static.load_inference_model(str(tmp_path / "again"))
        np.testing.assert_array_equal(trained.executor.run(again, {"x": trained.feed["x"]}, fetches)[0], expected)


def test_inference_programs_with_modules(bench, rng, tmp_path):
    with static.program.paused():
        model = lm.nn.Sequential(lm.nn.Linear(3, 4), lm.nn.BatchNorm1d(4), lm.nn.Linear(4, 2))
    x = static.data("x", [-1, 3])
    y = model(x)
    feed = {"x": rng.normal(size=(5, 3)).astype("float32")}
    bench.run(feed)
    static.save_inference_model(str(tmp_path / "m"), x, y)
    program, _, fetches = static.load_inference_model(str(tmp_path / "m"))
    with static.program.paused(), lm.no_grad():
        expected = model.eval()(lm.tensor(feed["x"])).numpy()
    np.testing.assert_allclose(bench.run(feed, fetches, program=program)[0], expected, 1e-6, 1e-6)


def test_parameters(trained, tmp_path):
    prefix = str(tmp_path / "model")
    static.save(trained.main, prefix)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["model.optimizer.safetensors", "model.params.safetensors"]
    before = {name: trained.array(name) for name in trained.main.held}
    (loss,) = trained.run(trained.feed, [trained.loss], program=trained.test)
    trained.start()
    assert any((trained.array(name) != value).any() for name, value in before.items())
    static.load(trained.main, prefix, trained.executor)
    for name, value in before.items():
        np.testing.assert_array_equal(trained.array(name), value)
    assert trained.run(trained.feed, [trained.loss], program=trained.test)[0] == loss
    state = static.load_program_state(prefix)
    assert set(state) == set(before) and all(isinstance(value, np.ndarray) for value in state.values())
    trained.start()
    static.set_program_state(trained.main, state)
    assert trained.run(trained.feed, [trained.loss], program=trained.test)[0] == loss
    trained.start()
    static.load(trained.main, prefix, var_list=["fc_0.w_0"])
    np.testing.assert_array_equal(trained.array("fc_0.w_0"), before["fc_0.w_0"])
    assert (trained.array("conv2d_0.w_0") != before["conv2d_0.w_0"]).any()


def test_state_dicts(trained):
    parameters, optimizer = trained.main.state_dict("param"), trained.main.state_dict("opt")
    assert set(parameters) == set(trained.main.held) and "fc_0.w_0.exp_avg" in optimizer
    assert set(trained.main.state_dict()) == {*parameters, *optimizer}
    with pytest.raises(ValueError, match="mode"):
        trained.main.state_dict("nothing")
    with pytest.raises(ValueError, match=r"'fc_0.b_0' has shape \[3\]"):
        trained.main.set_state_dict({"fc_0.w_0": parameters["fc_0.w_0"] * 0, "fc_0.b_0": np.zeros(3)})
    assert (trained.array("fc_0.w_0") != 0).any()


def test_a_python_function_is_not_saved(bench, tmp_path):
    x = static.data("x", [2])
    out = bench.declare("out", [2])
    static.py_func(np.tanh, x, out)
    with pytest.raises(ValueError, match=r"'py_func_0' \(test_static_files.py:\d+\)"):
        static.save_inference_model(str(tmp_path / "m"), [x], [out * 2])
    assert not list(tmp_path.iterdir())
    # What does not depend on it is.
    static.save_inference_model(str(tmp_path / "m"), [x], [x * 2])


@pytest.mark.parametrize(
    "damage",
    [
        {"a": []},
        {},
        {"kind": "other"},
        {"count": 1},
        {"takes": [[0, 1], [0, 7]]},
        {"takes": [[0, -1], [0, 1]]},
        {"bodies": []},
        {"bodies": [{"text": "nothing"}]},
        [],
    ],
)
def test_damaged_branches(bench, tmp_path, damage):
    x = static.data("x", [-1, 2])
    y = static.nn.cond(lm.sum(x) > 0, lambda: x * 2, lambda: x - 1)
    static.save_inference_model(str(tmp_path / "m"), [x], [y])
    path = tmp_path / "m.model.safetensors"
    tensors, text = io.load(path), io.metadata(path)
    flows = json.loads(text["lamella.control_flow"])
    changed = {"cond": {**flows["cond"], **damage}} if damage and "a" not in damage else damage
    io.save(tensors, path, {**text, "lamella.control_flow": json.dumps(changed)})
    with pytest.raises(ValueError, match=r"\[load_inference_model\] m.model.safetensors: the program cannot be read"):
        static.load_inference_model(str(tmp_path / "m"))


ERRORS = {
    "a missing feed": (ValueError, ["'label'", "feed_vars"], lambda b, p: save(p, [b.x], [b.loss])),
    "no fetch": (ValueError, ["fetch_vars"], lambda b, p: save(p, [b.x], [])),
    "a name as a fetch": (TypeError, ["fetch_vars", "str"], lambda b, p: save(p, [b.x], ["y"])),
    "a folder": (ValueError, ["folder"], lambda b, p: save(str(p) + "/", [b.x], [b.scores])),
    "no file": (FileNotFoundError, [], lambda b, p: static.load_inference_model(str(p))),
    "no file of parameters": (FileNotFoundError, [], lambda b, p: static.load(b.main, str(p))),
}


def save(path, feeds, fetches):
    static.save_inference_model(str(path), feeds, fetches)


@pytest.mark.parametrize("case", ERRORS)
def test_errors(trained, tmp_path, case):
    kind, words, call = ERRORS[case]
    with pytest.raises(kind) as caught:
        call(trained, tmp_path / "m")
    assert not [word for word in words if word not in str(caught.value)], caught.value
    assert not list(tmp_path.iterdir())


def test_parameters_without_values_are_not_saved(bench, tmp_path):
    network()
    with pytest.raises(RuntimeError, match=r"'conv2d_0\.w_0' has no value"):
        static.save(bench.main, str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_parameters_of_another_program(trained, tmp_path):
    static.save(trained.main, str(tmp_path / "m"))
    with static.program_guard(static.Program(), static.Program()), static.unique_name.guard():
        main = static.default_main_program()
        static.nn.fc(static.data("x", [-1, 7]), 3, name="other")
        with pytest.raises(ValueError, match=r"m.params.safetensors lacks other.w_0, other.b_0"):
            static.load(main, str(tmp_path / "m"))
    with static.program_guard(static.Program(), static.Program()), static.unique_name.guard():
        main = static.default_main_program()
        static.nn.fc(static.data("x", [-1, 7]), 3)
        before = trained.array("fc_0.w_0")
        with pytest.raises(ValueError, match=r"'fc_0.w_0' has shape \[108, 4\] in the state, \[7, 3\] in the program"):
            static.load(main, str(tmp_path / "m"))
        np.testing.assert_array_equal(trained.array("fc_0.w_0"), before)


DAMAGES = {
    "no text": lambda text: {},
    "no feeds": lambda text: {k: v for k, v in text.items() if k != "lamella.feeds"},
    "feeds that are no JSON": lambda text: {**text, "lamella.feeds": "["},
    "feeds that are numbers": lambda text: {**text, "lamella.feeds": "[3]"},
    "names that are missing": lambda text: {**text, "lamella.fetches": '["nothing"]'},
    "held variables in a list": lambda text: {**text, "lamella.held": "[]"},
    "a held variable without a value": lambda text: {**text, "lamella.held": json.dumps({"x": True})},
    "a program that ends early": lambda text: {**text, "lamella.program": text["lamella.program"][:-30]},
    "a program with an unknown operator": lambda text: {
        **text,
        "lamella.program": text["lamella.program"].replace("lamella::conv2d", "lamella::nothing"),
    },
    "a program that calls a function": lambda text: {
        **text,
        "lamella.program": text["lamella.program"] + '\nfunction "f"([])\n',
    },
    "a program of other sizes": lambda text: {
        **text,
        "lamella.program": text["lamella.program"].replace("[108, 4]", "[109, 4]"),
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files(trained, tmp_path, damage):
    save(tmp_path / "m", [trained.x], [trained.scores])
    path = tmp_path / "m.model.safetensors"
    tensors, text = io.load(path), io.metadata(path)
    io.save(tensors, path, DAMAGES[damage](text))
    with static.scope_guard(static.Scope()) as _, pytest.raises(ValueError, match=r"m\.model\.safetensors"):
        static.load_inference_model(str(tmp_path / "m"))
    assert not static.Scope().local_var_names()


def test_truncated_files(trained, tmp_path):
    save(tmp_path / "m", [trained.x], [trained.scores])
    path = tmp_path / "m.model.safetensors"
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"m\.model\.safetensors"):
            static.load_inference_model(str(tmp_path / "m"))
