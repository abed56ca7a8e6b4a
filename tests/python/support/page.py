"""Runs the Python examples of a page as somebody who reads would paste them: `python page.py custom-layers.md`.

The blocks run one after the other in one fresh interpreter, and find no names but those that the page itself makes. An
expression with a literal behind it (`x.tolist()  # [1.0, 2.0]`) has that value, and a block without a language, or of
the language `text`, is what the Python before it prints. A block that begins with a file's name (`# setup.py`) is that
file, and is run as one. The last line that this prints is the number of promises.
"""

import ast
import contextlib
import io
import re
import runpy
import sys
from pathlib import Path


def blocks(text):
    """The fenced blocks, as (language, text)."""
    return re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def promised_value(line):
    """The literal in a comment at the end of a line, in a list; an empty one where there are words, or nothing."""
    comment = re.fullmatch(r".*?  # (.*)", line)
    try:
        return [ast.literal_eval(comment[1])] if comment else []
    except (SyntaxError, ValueError):
        return []


def run(source, names):
    """Runs a block statement by statement, and says how many promised values it held."""
    lines, count = source.splitlines(), 0
    for statement in ast.parse(source).body:
        promised = promised_value(lines[statement.end_lineno - 1])
        if isinstance(statement, ast.Expr) and promised:
            value = eval(compile(ast.Expression(statement.value), "train.py", "eval"), names)
            assert value == promised[0], f"{lines[statement.end_lineno - 1]}: {value!r}"
            count += 1
        else:
            exec(compile(ast.Module([statement], []), "train.py", "exec"), names)
    return count


def run_file(name, text):
    """Writes a script and runs it; a setup.py is asked for its project's name."""
    Path(name).write_text(text, "utf-8")
    before, sys.argv = sys.argv, [name, *(["--name"] if name == "setup.py" else [])]
    try:
        runpy.run_path(name, run_name="__main__")
    finally:
        sys.argv = before


def main(page):
    names = {"__name__": "__main__"}
    promises, printed = 0, ""
    for language, text in blocks(Path(page).read_text("utf-8")):
        if language == "python":
            out = io.StringIO()
            file = re.match(r"# ([\w/]+\.py)\n", text)
            with contextlib.redirect_stdout(out):
                if file:
                    run_file(file[1], text)
                else:
                    promises += run(text, names)
            printed = out.getvalue()
        elif language in ("", "text") and printed:
            # Lines are broken to the width of the page. What follows is the frames of this script.
            assert " ".join(printed.split()).startswith(" ".join(text.split())), f"printed {printed!r}, not {text!r}"
            promises += 1
            printed = ""
    print(promises)


if __name__ == "__main__":
    main(sys.argv[1])
