"""draw(), counts of nodes, and what a node shows."""

import gc
import weakref
import xml.etree.ElementTree as ET

import pytest

import lamella as lm
from lamella.autograd import GraphStats, NodeCount, draw, graph_stats, live_nodes, saved_bytes, trace
from support.layers import Cube
from support.memory import Marker
from support.tensors import leaf
from support.threads import run_on_threads

# draw


def test_as_text(at):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with trace():
        h = Cube.apply(x)  # h
        y = (h * w + h).sum()  # y
    assert draw(y, params={"x": x, "weight": w}, format="text") == (
        f"sum  float32[]  {at('y')}\n"
        f"add  float32[2]  {at('y')}\n"
        f"├─ multiply  float32[2]  saves {2 * x.nbytes} B  {at('y')}\n"
        f"│  ├─ #1 Cube  float32[2]  saves {x.nbytes} B  {at('h')}\n"
        "│  │  leaf x  float32[2]\n"
        "│  └─ leaf weight  float32[2]\n"
        "└─ see #1\n"
    )


def parse(svg):
    return ET.fromstring(svg)


def texts(svg):
    return [node.text for node in parse(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_as_svg(at, tmp_path):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with trace():
        y = (Cube.apply(x) * w).sum()  # y
    line = at("y").rsplit("/", 1)[1]
    drawing = draw(y, params={"a<b&c": x}, path=tmp_path / "graph.svg")
    assert sorted(texts(drawing)) == sorted(
        [
            *("sum", "float32[]", line),
            *("multiply", "float32[2]", f"saves {2 * x.nbytes} B", line),
            *("Cube", "float32[2]", f"saves {x.nbytes} B", line),
            *("a<b&c", "float32[2]"),
            *("leaf", "float32[2]"),
        ]
    )
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing == drawing._repr_svg_()
    assert draw(y, format="text")._repr_svg_() is None


def boxes(svg):
    rects = [r.attrib for r in parse(svg).iter("{http://www.w3.org/2000/svg}rect") if "x" in r.attrib]
    return [tuple(float(r[k]) for k in ("x", "y", "width", "height")) for r in rects]


def test_boxes_do_not_overlap_and_lie_within():
    x = leaf(1.0, 2.0)
    y = x
    for _ in range(12):
        y = y * x + lm.exp(y) * lm.concat([x[:1], y[1:]])
    svg = draw(y.sum())
    root = parse(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    placed = boxes(svg)
    assert len(placed) == graph_stats(y.sum()).nodes
    for i, (ax, ay, aw, ah) in enumerate(placed):
        assert ax >= 0 and ay >= 0 and ax + aw <= width and ay + ah <= height
        for bx, by, bw, bh in placed[:i]:
            assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


def test_a_cut_is_told():
    y = leaf(1.0)
    for _ in range(8):
        y = Cube.apply(y)
    one = y.nbytes
    assert draw(y, format="text", max_nodes=3) == (
        f"Cube  float32[1]  saves {one} B\n" * 3
        + f"...\n(6 more nodes, which save {5 * one} B, left out: raise max_nodes to see them)\n"
    )
    assert texts(draw(y, max_nodes=3))[-1].startswith("6 more nodes, which save ")


def test_several_tensors_share_a_drawing():
    x = leaf(1.0)
    h = lm.exp(x)
    text = draw(h * 2, h * 3, format="text")
    assert text.count("exp") == 1 and text.count("see #1") == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y: draw(lm.ones([1])), ValueError, r"^\[draw\] none of the tensors is on the tape"),
        (lambda y: draw(), ValueError, r"^\[draw\] none of the tensors is on the tape"),
        (lambda y: draw(y, format="png"), ValueError, r"^\[draw\] format: expected 'svg' or 'text', got 'png'"),
        (lambda y: draw(y, max_nodes=0), ValueError, r"^\[draw\] max_nodes: expected at least 1, got 0"),
        (lambda y: draw(1), TypeError, r"^\[draw\]"),
        (lambda y: draw(y, params={"a": 1}), TypeError, r"^\[draw\] params: expected Tensors under the names, got int"),
        (lambda y: draw(y, params={1: y}), TypeError, r"^\[draw\] params: expected names that are strings, got int"),
        (lambda y: graph_stats(1), TypeError, r"^\[graph_stats\]"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call(leaf(1.0) * 2)


# Counts


def test_graph_stats_is_a_table():
    x = leaf(1.0, 2.0)
    n = x.nbytes
    stats = graph_stats(Cube.apply(x) + lm.exp(x))
    assert isinstance(stats, GraphStats)
    assert stats == {
        "add": NodeCount(1, 0),
        "Cube": NodeCount(1, n),
        "exp": NodeCount(1, n),
        "AccumulateGrad": NodeCount(1, 0),
    }
    assert (stats.nodes, stats.saved_bytes) == (4, 2 * n)
    width = len("saved bytes")
    assert repr(stats) == "\n".join(
        [
            "operation       nodes  saved bytes",
            f"Cube                1  {n:>{width}}",
            f"exp                 1  {n:>{width}}",
            f"AccumulateGrad      1  {0:>{width}}",
            f"add                 1  {0:>{width}}",
            f"total               4  {2 * n:>{width}}",
        ]
    )
    assert graph_stats(lm.ones([1])) == {}


def test_live_nodes_over_threads():
    x = leaf(1.0, 2.0)
    kept = []

    def work():
        with trace():
            kept.append(Cube.apply(x))

    assert "Cube" not in live_nodes()
    run_on_threads(work)
    with trace():
        kept.append(Cube.apply(x))
    assert live_nodes()["Cube"] == 2
    assert saved_bytes()["Cube"] == x.nbytes
    assert repr(live_nodes()).splitlines()[0].split() == ["operation", "nodes"]
    kept[0].sum().backward()
    kept.pop()
    kept.clear()
    assert "Cube" not in live_nodes() and "Cube" not in saved_bytes()


# Nodes


def test_what_a_node_shows(at):
    x = leaf(1.0, 2.0)
    y = Cube.apply(x)
    node = y.grad_fn
    assert len(node.saved_tensors) == 1 and node.saved_tensors[0] is x
    assert node.sequence_nr < (y * 2).grad_fn.sequence_nr
    assert node.origin is None and not hasattr(node, "variable") and node.next_functions[0][0].variable is x
    node.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    y.sum().backward()
    assert node.saved_tensors == ()
    with trace():
        y = Cube.apply(x)  # call
    assert y.grad_fn.origin.splitlines()[0] == f"called at {at('call')}, in test_what_a_node_shows"
    for name in ("metadata", "saved_tensors", "sequence_nr", "origin", "leaf"):
        with pytest.raises(AttributeError):
            setattr(node, name, 1)


def test_a_layers_node_and_its_context_know_each_other():
    class Kept(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.noted, ctx.before = 3, ctx.node
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.after = ctx.node
            return grad * 2

    x = leaf(1.0)
    y = Kept.apply(x)
    node, ctx = y.grad_fn, y.grad_fn.context
    assert ctx.noted == 3 and ctx.node is node is ctx.before and (y * 2).grad_fn.context is None
    y.sum().backward()
    assert ctx.after is node
    del ctx.before, ctx.after
    gone = weakref.ref(node)
    del y, node
    gc.collect()
    assert gone() is None
    with pytest.raises(RuntimeError, match="node: this context belongs to no call"):
        ctx.node  # noqa: B018 (raises)
    with lm.no_grad():
        assert Kept.apply(x).grad_fn is None


def test_a_context_that_holds_its_node_makes_no_leak():
    class Holding(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.held, ctx.thing = ctx.node, Marker()
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Holding.apply(leaf(1.0))
    gone = weakref.ref(y.grad_fn.context.thing)
    del y
    gc.collect()
    assert gone() is None


def test_metadata_makes_no_leak():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.metadata["self"] = y
    y.grad_fn.metadata["thing"] = thing = Marker()
    gone = weakref.ref(thing)
    del y, thing
    gc.collect()
    assert gone() is None


#: Results of each kind of operation, whose nodes are looked at.
GRAPHS = {
    "operator": lambda x: x * 2,
    "layer": Cube.apply,
    "view": lambda x: (x * 2)[0:1],
    "in place": lambda x: (x * 2).mul_(3),
    "list": lambda x: lm.unstack(x * 2)[1],
    "second derivative": lambda x: lm.grad((x**3).sum(), x, create_graph=True),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_node_is_one_object_as_long_as_somebody_holds_it(kind):
    y = GRAPHS[kind](leaf(1.0, 2.0))

    def nodes(node):
        return [node, *(n for below, _ in node.next_functions if below is not None for n in nodes(below))]

    held = nodes(y.grad_fn)
    again = nodes(y.grad_fn)
    assert y.grad_fn is held[0] and all(a is b for a, b in zip(held, again, strict=True))
    z = y + 1
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert len(set(held)) == len({id(node) for node in held})
    assert all((a == b) == (a is b) for a in held for b in held)
    assert {held[0]: 3}[y.grad_fn] == 3 and hash(held[0]) == hash(y.grad_fn)


def test_nodes_are_freed_with_their_last_reference():
    x = leaf(1.0)
    y = x * 2
    seen = weakref.ref(y.grad_fn)
    assert seen() is None  # nobody held it
    node = y.grad_fn
    seen = weakref.ref(node)
    del y
    assert seen() is node and node.name
    del node
    assert seen() is None
    y = x * 3
    assert (x * 2).grad_fn != y.grad_fn


def test_one_node_on_many_threads():
    y = leaf(1.0) * 2
    node = y.grad_fn
    found = []
    run_on_threads(*[lambda: found.extend(y.grad_fn for _ in range(1000))] * 4)
    assert all(each is node for each in found)
