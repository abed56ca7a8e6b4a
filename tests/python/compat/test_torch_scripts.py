"""Programs in the manner of PyTorch's examples, run through the front; each checks that it has learned something."""

from pathlib import Path

import pytest

from support import extensions

SCRIPTS = Path(__file__).parent / "samples" / "scripts"

#: Arguments of the scripts that take some, for several runs of one.
ARGUMENTS = {
    "characters": ["", "--compile"],
    "digits": ["", "--workers 1"],
    "words": ["LSTM", "GRU", "tanh"],
}

RUNS = [(path.stem, arguments) for path in sorted(SCRIPTS.glob("*.py")) for arguments in ARGUMENTS.get(path.stem, [""])]


@pytest.mark.parametrize(("script", "arguments"), RUNS)
def test_the_script_learns(script, arguments, tmp_path):
    done = extensions.run("-m", "lamella.compat", SCRIPTS / f"{script}.py", *arguments.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
