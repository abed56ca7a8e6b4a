"""Runs a program, and fails where a picture of matplotlib that it saves does not say what it shows.

`python drawn.py program.py --its --arguments`
"""

from __future__ import annotations

import itertools
import runpy
import sys
from pathlib import Path
from typing import Any


def complaints(figure: Any) -> list[str]:
    """Returns what is missing in a figure, and texts that are cut off or lie on one another."""
    figure.draw_without_rendering()
    found, texts = [], []
    for axes in figure.axes:
        if axes.get_label() == "<colorbar>":
            continue
        drawn = axes.axison
        twin = any(
            axes is not other and axes.get_position().bounds == other.get_position().bounds for other in figure.axes
        )
        name = axes.get_title() or f"panel {len(texts)}"
        if not axes.get_title() and not twin:
            found.append(f"{name} has no title")
        if drawn and not twin and len(axes.get_xticks()) and not axes.get_xlabel():
            found.append(f"{name}: the axis across has no label")
        # Points have a quantity in both directions, curves one that the title names.
        if drawn and axes.collections and not axes.lines and len(axes.get_yticks()) and not axes.get_ylabel():
            found.append(f"{name}: the axis upwards has no label")
        if len([line for line in axes.lines if len(line.get_xdata()) > 2]) > 1 and axes.get_legend() is None:
            found.append(f"{name} has several curves and no legend")
        labels = [axes.xaxis.label, axes.yaxis.label] if drawn else []
        texts += [text for text in (axes.title, *labels, *axes.texts) if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    outer = figure.bbox
    for text, box in boxes:
        if box.x0 < outer.x0 - 1 or box.x1 > outer.x1 + 1 or box.y0 < outer.y0 - 1 or box.y1 > outer.y1 + 1:
            found.append(f"{text!r} is cut off")
    found += [f"{a!r} lies on {b!r}" for (a, p), (b, q) in itertools.combinations(boxes, 2) if p.overlaps(q)]
    return found


def main() -> None:
    program = sys.argv[1]
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        pass
    else:
        save = Figure.savefig

        def checked(figure: Any, path: Any, *args: Any, **kwargs: Any) -> None:
            if found := complaints(figure):
                raise SystemExit(f"{Path(path).name}: {'; '.join(found)}")
            save(figure, path, *args, **kwargs)

        Figure.savefig = checked  # type: ignore[method-assign]
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
