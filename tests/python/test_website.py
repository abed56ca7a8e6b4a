"""The documentation as a site: what goes into it, its links, and docstrings as Markdown."""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import lamella as lm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def website() -> Any:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("docs.website")


@pytest.fixture(scope="module")
def reference() -> Any:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("docs.reference")


@pytest.fixture(scope="module")
def declarations() -> Any:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("docs.declarations")


def test_every_page_has_a_place_in_the_contents(website: Any) -> None:
    places = website.pages()
    text = repr(website.navigation(places, [("lamella", "lamella.md")]))
    named = set(re.findall(r"'([\w/.-]+\.md)'", text))
    pages = {place.as_posix() for place in places.values() if place.suffix == ".md"}
    # Records of benchmarks are found from their page.
    assert (
        pages - named == {page for page in pages if page.startswith("benchmarks-results/")}
        and "reference/lamella.md" in named
    )


def test_links_lead_where_the_pages_are(website: Any) -> None:
    places = website.pages()
    source = ROOT / "docs" / "decisions" / "README.md"
    given = (
        "[a](compile.md) [b](../nn.md#layers) [c](../../CONTRIBUTING.md) [d](../../ops/op_info.h) "
        "[e](../../tutorials/02_pylayer/README.md) [f](#here) [g](https://example.org/x)\n"
        "```\n[h](nothing.md)\n```\n"
    )
    assert website.rewritten(given, source, places) == (
        "[a](compile.md) [b](../nn.md#layers) [c](../contributing.md) d "
        "[e](../tutorials/02_pylayer.md) [f](#here) [g](https://example.org/x)\n"
        "```\n[h](nothing.md)\n```\n"
    )


def test_the_search_finds_a_dotted_name_by_its_parts(website: Any) -> None:
    (plugin,) = website.settings([])["plugins"]
    words = re.split(plugin["search"]["separator"], 'lamella.autograd.forward_ad: "PyLayer.apply(x)", 1.5')
    assert [word for word in words if word] == ["lamella", "autograd", "forward_ad", "PyLayer", "apply", "x", "1.5"]


def test_examples_in_a_table_stand_below_their_rows(website: Any) -> None:
    with_examples = [
        place.as_posix()
        for source, place in website.pages().items()
        if place.suffix == ".md" and "examples_below" in website.head(source.read_text("utf-8"), place)
    ]
    assert with_examples == ["autograd/pytorch-features.md"]
    assert "examples_below" in (ROOT / "docs" / "theme" / "main.html").read_text("utf-8")


def test_declarations_fit_into_a_window(declarations: Any) -> None:
    """Long ones have a line for each parameter, and large numbers stand as a power of ten."""

    def plan(flops: float = 3.12e14, bandwidth: float = 2.5, count: int = 10000000) -> None: ...

    declaration = declarations.laid_out(f"lamella.distributed.plan{declarations.signature(plan)}")
    assert declaration.splitlines() == [
        "lamella.distributed.plan(",
        "    flops: float = 3.12e14,",
        "    bandwidth: float = 2.5,",
        "    count: int = 10000000,",
        ") -> None",
    ]
    exactly = f"lamella.f({'x' * (declarations.LONGEST - 11)})"
    assert len(exactly) == declarations.LONGEST and declarations.laid_out(exactly) == exactly


def test_columns_of_tables_have_titles(website: Any) -> None:
    """The first column may have none, where its cells are the titles of rows."""
    untitled = [
        f"{source.relative_to(ROOT)}: {title}"
        for source, place in website.pages().items()
        if place.suffix == ".md"
        for title in re.findall(r"^(\|.*)\n\|[-:| ]+\|$", source.read_text("utf-8"), re.MULTILINE)
        if not all(cell.strip() for cell in title.rstrip()[1:-1].split("|")[1:])
    ]
    assert untitled == []


def test_labels_of_drawings_fit_into_their_boxes() -> None:
    """Letters are taken as wide as those of DejaVu Sans are on average, 0.56 of their size."""
    wide = []
    for path in sorted((ROOT / "docs" / "drawings").glob("*.svg")):
        boxes = re.findall(
            r'<rect x="[^>]* width="([\d.]+)"[^>]* rx="5"[^>]*/>((?:\n<text.*</text>)+)', path.read_text()
        )
        assert boxes or path.name == "tape.svg", path
        for width, labels in boxes:
            for attributes, label in re.findall(r"<text ([^>]*)>(.*)</text>", labels):
                size = float((re.search(r'font-size="([\d.]+)"', attributes) or ("", 13))[1])
                if 0.56 * size * len(label) > float(width):
                    wide.append(f"{path.name}: {label}")
    assert wide == []


def test_files_of_operators_are_found_from_their_table() -> None:
    """Gradients and kernels are named as seen from the folder of the formula."""
    text = (ROOT / "docs" / "where-is.md").read_text("utf-8")
    missing = []
    for formula, gradient, kernels, tests in re.findall(
        r"^\| `\w+` \| (.*) \| (.*) \| (.*) \| (.*) \|$", text, re.MULTILINE
    ):
        places = [name for name in re.split(", ", f"{gradient}, {kernels}") if re.fullmatch(r"[\w/.]+", name)]
        folder = (ROOT / formula).parent
        missing += [
            name
            for name in places
            if name not in ("none", "composed") and not (folder / name).exists() and not (ROOT / name).exists()
        ]
        missing += [name for name in (formula, tests) if not (ROOT / name).exists()]
    assert missing == [] and "cpu/pool.cc" in text


def _levels(page: str) -> list[int]:
    """Returns the levels of a page's headings, in order."""
    text = re.sub(r"^( *)```.*?^\1```", "", page, flags=re.DOTALL | re.MULTILINE)
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


def _well_nested(levels: list[int]) -> bool:
    return levels.count(1) == 1 and levels[0] == 1 and all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_pages_have_one_title_and_leave_out_no_level_of_headings(website: Any) -> None:
    sources = [source for source, place in website.pages().items() if place.suffix == ".md"]
    assert _levels("# a\n```\n# b\n```\n### c\n") == [1, 3] and not _well_nested([1, 3])
    assert [source.name for source in sources if not _well_nested(_levels(source.read_text("utf-8")))] == []


def test_pages_have_no_tags_but_those_that_break_lines(website: Any) -> None:
    for source, place in website.pages().items():
        if place.suffix == ".md":
            prose = re.sub(r"^( *)```.*?^\1```|`[^`]+`", "", source.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
            tags = set(re.findall(r"<(?!!--)[A-Za-z/][^>]*>", prose))
            assert tags <= {"<br>"}, source


def test_docstrings_become_markdown(reference: Any) -> None:
    text = reference.markdown(
        """Adds :func:`lamella.add` to ``x``, a < b, *dual tensors*, 2**3, ``(n *
        m_n)``::

            y = x + 1

        Args:
            x: a tensor
                of any shape.
            *args (optional): others, ``a *
                b``.

        Returns:
            The sum.

        Raises:
            ValueError: there is none.
        """
    )
    assert text.splitlines() == [
        "Adds `lamella.add` to `x`, a &lt; b, *dual tensors*, 2\\*\\*3, `(n *",
        "m_n)`:",
        "",
        "```python",
        "y = x + 1",
        "```",
        "",
        "",
        "**Args**",
        "",
        "- `x`: a tensor",
        "  of any shape.",
        "- `*args` (optional): others, `a *",
        "  b`.",
        "",
        "",
        "**Returns**",
        "",
        "The sum.",
        "",
        "",
        "**Raises**",
        "",
        "- `ValueError`: there is none.",
    ]


def test_the_reference_has_all_operators_and_modules(reference: Any, tmp_path: Path) -> None:
    pages = reference.write(tmp_path)
    text = {page: (tmp_path / page).read_text(encoding="utf-8") for _, page in pages}
    operators = "\n".join(text[page] for page in text if page.startswith("operators-"))
    missing = [info["name"] for info in lm._C.operators() if f"\n## {info['name']}\n" not in operators]
    assert not missing and len(pages) == len(set(page for _, page in pages))
    assert "## Linear\n" in text["lamella-nn.md"] and "## AdamW\n" in text["lamella-optim.md"]
    assert "(self" not in text["lamella-optim-lr.md"] and "'float'" not in text["lamella-optim-lr.md"]
    assert reference.markdown(inspect.getdoc(lm.nn.Linear) or "") in text["lamella-nn.md"]
    for page, written in text.items():
        assert _well_nested(_levels(written)), page
        assert len(written) > 300 and "\n\nNone\n" not in written, page
        # Objects and addresses that are no part of what one writes, and Markdown's marks inside of code.
        code = "\n".join(re.findall(r"^```\w+\n.*?^```|`[^`]+`", written, re.DOTALL | re.MULTILINE))
        assert re.findall(r"ForwardRef|\bat 0x|<factory>|(?<=\w)\(\.\.\.\)$|\\[_\[*]", code) == [], page


@pytest.mark.parametrize(
    ("page", "name", "members"),
    [
        (
            "lamella",
            "Tensor",
            ["backward(grad: Tensor | None", "register_hook(hook: ", "shape: tuple", "grad", "T: Tensor"],
        ),
        ("lamella.autograd", "PyLayerContext", ["save_for_backward(*tensors", "needs_input_grad"]),
        ("lamella.autograd", "PyLayer", ["apply(*args: Any, **kwargs: Any)", "forward("]),
        ("lamella.distributions", "Distribution", ["mean: Tensor", "batch_shape: "]),
        ("lamella.profiler", "Profile", ["peak_memory: int"]),
        ("lamella.graph", "Graph", ["run(", "nodes: "]),
        # What bases without an entry of their own add.
        ("lamella.nn", "Module", ["load_state_dict(state", "register_forward_hook(", "to("]),
        ("lamella.nn", "Conv2d", ["forward(x: Tensor)"]),
        ("lamella", "compile", ["explain(compiled: Any) -> Explanation"]),
    ],
)
def test_the_reference_has_methods_and_attributes(reference: Any, page: str, name: str, members: list[str]) -> None:
    operators = {id(getattr(lm._C, str(info["name"]))): f"#{info['name']}" for info in lm._C.operators()}
    text = reference.module_page(page, "", operators)
    (entry,) = re.findall(rf"^## {name}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert [member for member in members if f"**`{member}" not in entry] == []
    # Operators have pages of their own.
    assert "**`tanh(" not in entry and "**`tanh_(" not in entry


def test_the_reference_lists_constants_and_links_to_operators(reference: Any) -> None:
    operators = {id(lm.relu): "operators-nn.md#relu"}
    assert "[`relu`](operators-nn.md#relu)" in reference.module_page("lamella.nn.functional", "", operators)
    constants = reference.module_page("lamella", "", {}).partition("## Constants\n")[2]
    assert "- `float32`: the dtype.\n" in constants and "- `pi`: `3.14" in constants


def test_windows_tell_modules_from_families_of_operators(website: Any, written: dict[str, str]) -> None:
    titles = [text.partition("\n")[2].partition("\n")[0] for text in written.values()]
    assert len(set(titles)) == len(titles) and {'title: "lamella.nn"', 'title: "Operators: nn"'} <= set(titles)
    contents = repr(website.navigation(website.pages(), [("lamella.nn", "lamella-nn.md"), ("Operators: nn", "o.md")]))
    assert "{'nn': 'reference/lamella-nn.md'}" in contents and "{'nn': 'reference/o.md'}" in contents


def test_operators_of_modules_go_by_the_names_that_one_calls(written: dict[str, str]) -> None:
    text = written["operators-linalg.md"]
    assert "\nlamella.linalg.solve(x1: Tensor, x2: Tensor" in text and "\nlamella.linalg_solve(" not in text
    (eig,) = re.findall(r"^## linalg_eig\n.*?(?=^## )", text, re.DOTALL | re.MULTILINE)
    assert "- Also: `lm.linalg.eig(...)`\n" in eig


def test_every_operator_names_shapes_gradients_errors_and_source(reference: Any, tmp_path: Path) -> None:
    text = "\n".join(reference.operator_pages().values())
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(lm._C.operators())
    for entry in entries:
        facts = set(re.findall(r"^- (\w+): \S", entry, re.MULTILINE))
        assert facts >= {"Shapes", "Dtypes", "Returns", "Gradients", "Source"}, entry
        assert re.search(r"^- .*: `\w+Error: \[\w+\] .+`$", entry, re.MULTILINE), entry


def test_messages_with_marks_of_code_are_code_as_a_whole(reference: Any, written: dict[str, str]) -> None:
    assert reference.operator_facts.code("a b") == "`a b`"
    assert reference.operator_facts.code("leave out `x`") == "`` leave out `x` ``"
    odd = [line for text in written.values() for line in _prose(text).splitlines() if line.count("`") % 2]
    # A span of code may go over two lines of a paragraph.
    assert [line for line in odd if line.startswith("- ") and "Error: [" in line] == []


def test_facts_of_operators_are_what_they_do(reference: Any) -> None:
    facts = reference.operator_facts
    infos = {info["name"]: info for info in lm._C.operators()}
    matmul = facts.example_call(infos["matmul"])
    assert facts.shapes(infos["matmul"], matmul) == "`[2, 3], [3, 4] → [2, 4]`, for example"
    assert facts.gradients(infos["matmul"], matmul) == "`a`, `b`"
    (inner,) = [
        r for r in facts.refusals(infos["matmul"], matmul) if "inner sizes" in r.message and r.given.startswith("`a`")
    ]
    assert inner == ("`a` of shape [2, 6]", "ValueError", "[matmul] inner sizes 6 and 3 differ (a: [2, 6], b: [3, 4])")
    assert facts.gradients(infos["argmax"], facts.example_call(infos["argmax"])) == "none in the example"
    assert facts.shapes(infos["add"], facts.example_call(infos["add"])) == "any that broadcast, to the result's"


@pytest.fixture(scope="module")
def written(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reference")
    return {page: (folder / page).read_text("utf-8") for _, page in reference.write(folder)}


def _prose(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def test_declarations_have_types_that_one_can_write(written: dict[str, str]) -> None:
    """Neither modules of the library's own nor private names, aliases' nor variables' for types, nor empty defaults."""
    wrong = []
    for page, text in written.items():
        declared = re.findall(
            r"^```python\n((?:class )?lamella\..*?)^```|^\*\*`(.*?)`\*\*$", text, re.DOTALL | re.MULTILINE
        )
        for one in ("".join(pair) for pair in declared):
            bad = re.findall(
                r"\b_C\.|\blm\.|(?<![\w.'])_[A-Za-z]\w*|~|= \.\.\.|0x|\bSupportsIndex\b|npt\.|\|\s*\(", one
            )
            wrong += [f"{page}: {one}"] if bad else []
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", "(a: Tensor | Number, b: Tensor | Number, /, *, out: Tensor | None = None) -> Tensor"),
        ("frexp", "(x: Tensor, /) -> (mantissa: Tensor, exponent: Tensor)"),
        ("seed", "(n: int, /) -> None"),
        ("nn.Sigmoid", "()"),
        ("optim.LRScheduler", "(optimizer: Optimizer)"),
        ("optim.LambdaLR", "(optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]])"),
        ("optim.lr.ConstantLR", "(optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5)"),
        ("nn.MaxUnpool2d", None),
        ("graph.Graph", "(name: str = 'graph')"),
        ("autograd.CheckpointPolicy", ""),
        ("autograd.once_differentiable", "(backward: Callable[..., Any]) -> Callable[..., Any]"),
        ("distributions.Exponential", "(rate: Tensor | float, validate_args: bool | None = None)"),
        ("random.fork_rng", None),
    ],
)
def test_signatures_say_what_aliases_stand_for(declarations: Any, name: str, expected: str | None) -> None:
    value: Any = lm
    for part in name.split("."):
        value = getattr(value, part)
    found = declarations.signature(value)
    assert found == expected if expected is not None else "AbstractContextManager" in found or "int | Sequence" in found


def test_what_is_made_anew_for_each_object_is_shown(declarations: Any) -> None:
    assert "partial: Mapping[str, str] = {}" in declarations.signature(lm.distributed.Spec)


def test_every_name_is_described_once(reference: Any, written: dict[str, str]) -> None:
    """Other pages lead there."""
    places: dict[int, list[str]] = {}
    for name in reference.MODULES:
        page = f"{name.replace('.', '-')}.md"
        for member in reference._public(importlib.import_module(name)):
            value = getattr(importlib.import_module(name), member)
            if reference._described(value) and f"\n```python\nclass {name}.{member}" in written[page]:
                places.setdefault(id(value), []).append(f"{name}.{member}")
    assert [one for one in places.values() if len(one) > 1] == [] and len(places) > 300
    assert "- [`vmap`](lamella-autograd.md#vmap): " in written["lamella.md"]
    assert (
        "[`abs_`](operators-elementwise.md#abs)" in written["lamella.md"] and "\n## abs_\n" not in written["lamella.md"]
    )


def test_links_of_the_reference_lead_to_entries(reference: Any, written: dict[str, str]) -> None:
    anchors = {page: {place for _, place in reference.references.entries(text)} for page, text in written.items()}
    lost = []
    for page, text in written.items():
        for to, place in re.findall(r"\]\(([\w-]*(?:\.md)?)#(\w[\w-]*)\)", _prose(text)):
            lost += [] if place in anchors[to or page] else [f"{page}: {to}#{place}"]
    assert lost == [] and sum(text.count("](") for text in written.values()) > 1000


def test_full_names_in_the_reference_are_links(written: dict[str, str]) -> None:
    """What is not there cannot be meant; these are no module's of the reference."""
    known = {"lamella.utils.tensorboard", "lm.ops.lamella", "lm.ops.myops.my_op"}
    unknown = set()
    for page, text in written.items():
        for line in _prose(text).splitlines():
            if not re.match(r"#|\*\*`|- (?:Example|Reference|Source|Returns|Also): ", line):
                unknown |= {
                    (page, name) for name in re.findall(r"(?<!\[)`((?:lm|lamella)\.[\w.]+)(?:\(\))?`(?!\])", line)
                }
    assert {name for _, name in unknown} - known == set(), unknown


def test_links_are_made_from_names_and_not_from_arguments(reference: Any) -> None:
    pages = {
        "lamella-a.md": "# a\n\n## f\n\n```python\nlamella.a.f(g: int)\n```\n\nSee `g`, `h()`, `lm.b.k` and `f`.\n\n"
        "- `h`: not `h`\n\n## g\n\n## h\n\n`K.run` and docs/nn.md.\n\n## K\n\n## k\n",
        "lamella-b.md": "# b\n\n## k\n\n```python\nlamella.b.k()\n```\n\n`lamella.a.f`, `nothing`\n",
    }
    linked = reference.references.linked(pages)
    assert "See `g`, `h()`, [`lm.b.k`](lamella-b.md#k) and `f`.\n\n- `h`: not `h`\n" in linked["lamella-a.md"]
    title = (ROOT / "docs" / "nn.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")
    assert f"[`K.run`](#k) and [{title}](../nn.md)." in linked["lamella-a.md"]
    assert "[`lamella.a.f`](lamella-a.md#f), `nothing`" in linked["lamella-b.md"]
    assert list(reference.references.entries(pages["lamella-a.md"]))[-2:] == [("K", "k"), ("k", "k_1")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Adds a to b. a may be 0.", "Adds a to b."),
        ("By Xu et al. (2015), e.g. of x\nand y. ``z`` is.\n\nMore.", "By Xu et al. (2015), e.g. of x and y."),
        ("Shows the rest::\n\n    x", "Shows the rest."),
        ("x [.., n].", "x [.., n]."),
    ],
)
def test_lists_of_names_tell_a_sentence_of_each(reference: Any, text: str, expected: str) -> None:
    assert reference.first_sentence(text) == expected


def test_sessions_and_names_in_prose_are_code(reference: Any) -> None:
    text = reference.markdown(
        """Sets create_graph, see lamella.grad and run(), or n_fft // 2; ``x``.

        >>> f(a_b)  # doctest: +SKIP
        1

        Ends.
        """
    )
    assert "Sets `create_graph`, see `lamella.grad` and `run()`, or `n_fft` // 2; `x`." in text
    assert reference.markdown('One of "leaky_relu" and "a_b".') == 'One of "leaky\\_relu" and "a\\_b".\n'
    assert "```pycon\n>>> f(a_b)\n1\n```" in text and text.rstrip().endswith("Ends.")


def test_nothing_in_the_reference_is_left_as_it_was_typed(written: dict[str, str]) -> None:
    """Sessions, tables and lists of other marks than Markdown's, in running text."""
    left = [
        f"{page}: {line}"
        for page, text in written.items()
        for line in _prose(text).splitlines()
        if re.match(r"\s*>>> |={4,}|\.\. \w+::|:\w+:", line) or "# doctest" in line or "see there" in line
    ]
    assert left == []


def test_constants_say_what_they_are(written: dict[str, str]) -> None:
    bare = [
        f"{page}: {line}"
        for page, text in written.items()
        for line in text.partition("\n## Constants\n")[2].splitlines()
        if re.fullmatch(r"- `\w+`", line) or "lamella." in line or "typing." in line
    ]
    assert bare == []
    assert "- `CommHook`: `Callable[[GradientBucket], Any]`: Called" in written["lamella-distributed-hooks.md"]
    assert "[`lamella.sbp.broadcast`](lamella-sbp.md#constants)" in written["lamella-distributed.md"]
    # What a package describes is found from its modules.
    assert "[`DistributedDataParallel`](lamella-distributed.md#" in written["lamella-distributed-hooks.md"]


def test_classes_have_texts_of_their_own(reference: Any) -> None:
    """A class that says what its base says would leave readers without what tells the two apart."""
    repeated = []
    for name in reference.MODULES:
        module = importlib.import_module(name)
        for member in reference._public(module):
            value = getattr(module, member)
            if inspect.isclass(value) and id(value) in reference.homes():
                bases = [base for base in value.__mro__[1:] if base is not object and base.__doc__]
                own = vars(value).get("__doc__") or ""
                repeated += [f"{name}.{member}"] if not own or own in [base.__doc__ for base in bases] else []
    assert repeated == []


def test_internal_steps_of_a_base_are_no_methods_of_its_subclasses(written: dict[str, str]) -> None:
    (adam,) = re.findall(r"^## Adam\n.*?(?=^## )", written["lamella-optim.md"], re.DOTALL | re.MULTILINE)
    assert "**`numbers(" not in adam and "update_group" not in adam and "(#optimizer)" in adam
    assert "An `Enum`: `MUST_SAVE`," in written["lamella-autograd.md"]
    assert "## Progress\n" in written["lamella-utils.md"] and "## FloatInfo\n" in written["lamella.md"]
    assert "## Way\n\n```python\nclass Way(" in written["lamella-distributed.md"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sin", "floating, complex; also bool, integers (the result is float32)"),
        ("div_", "floating, complex"),
        ("where", "bool, integers, floating, complex"),
        ("take", "bool, integers, floating, complex"),
        ("mse_loss", "bool, integers, floating"),
        ("sign", "bool, integers, floating, complex"),
        ("bincount", "integers"),
        ("linalg_det", "float32, float64, complex"),
    ],
)
def test_dtypes_of_operators_are_those_that_they_take(reference: Any, name: str, expected: str) -> None:
    facts = reference.operator_facts
    info = next(info for info in lm._C.operators() if info["name"] == name)
    assert facts.dtypes(info, facts.example_call(info)) == expected


def test_examples_of_operators_can_be_typed_as_they_are_shown(reference: Any, written: dict[str, str]) -> None:
    shown = [
        line
        for page, text in written.items()
        if page.startswith("operators-")
        for line in re.findall(r"^- Example: (.*)$", text, re.MULTILINE)
    ]
    for line in shown:
        code, _, result = line.replace("`", "").partition(" → ")
        found = " ".join(repr(eval(code, {"lm": lm})).split())
        assert result in ("", found), line
    # What is drawn is another number each time.
    assert "lm.zeros([2]).bernoulli_(0.3)" in [line.strip("`") for line in shown]
    assert len(shown) == len(lm._C.operators()) and sum(" → " in line for line in shown) > 400
