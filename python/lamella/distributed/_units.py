"""Units of a model in parts: modules whose parameters are gathered before they run, and whose gradients are reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import _C, _tree
from .._C import Tensor
from ..autograd import saved_tensors_hooks
from ..autograd._checkpoint import running_again_in
from ..nn import Module, ModuleDict, ModuleList, Sequential
from ._flat import Flat, Gathered, View
from ._models import in_pass

#: Parts of a model that are gathered together: modules of these types, or those of which a function says so.
Units = type | tuple[type, ...] | Callable[[Module], bool] | None


class Exchange:
    """Gathers units before they run, and reduces the gradients of those that are complete."""

    def __init__(self, stage: int) -> None:
        self.stage = stage
        self.syncs = True
        #: True where no wrapper does what comes before and after a forward pass.
        self.begins_with_root = False
        #: Units that run, the innermost last.
        self.running: list[Unit] = []
        self.units: list[Unit] = []
        self.flats: list[Flat] = []
        #: Units in the order in which they first ran in the last forward pass, and in this one.
        self._order: list[Unit] = []
        self._seen: list[Unit] = []
        self._is_open = False

    def add(self, unit: Unit) -> None:
        """Adds a unit."""
        self.units.append(unit)
        self.flats += unit.flats

    @contextmanager
    def forward_pass(self) -> Iterator[None]:
        """Runs a forward pass, whose saved tensors do not keep parameters that stage 3 drops."""
        for unit in self.units:
            unit.number = None
        self._seen = []
        drops = self.stage == 3 and _C.is_grad_enabled()
        hooks: AbstractContextManager[Any] = saved_tensors_hooks(self._pack, self._unpack) if drops else nullcontext()
        try:
            with hooks:
                yield
        finally:
            self._order = self._seen
            for unit in self.units:
                unit.place = unit.number
            if not drops:
                self.release()

    def entered(self, unit: Unit) -> None:
        """Gathers a unit that is about to run, and starts to gather the next one."""
        for flat in unit.flats:
            flat.gathered()
        # A checkpoint runs units again in backward, from the last one to the first.
        if in_pass():
            self._prefetch_beside(unit, -1)
            return
        self._prefetch_beside(unit, 1)
        if unit.number is None:
            unit.number = len(self._seen)
            self._seen.append(unit)

    def _prefetch_beside(self, unit: Unit, step: int) -> None:
        at = -1 if unit.place is None else unit.place + step
        if 0 <= at < len(self._order):
            for flat in self._order[at].flats:
                flat.prefetch()

    def release(self) -> None:
        """Drops all wholes in stage 3."""
        if self.stage == 3:
            for flat in self.flats:
                flat.release()

    # ---- saved tensors

    def _pack(self, x: Tensor) -> Tensor | View:
        # Few are here at a time: those that run.
        for unit in self.running:
            for flat in unit.flats:
                if flat.is_here and (view := flat.view_of(x)) is not None:
                    return view
        return x

    def _unpack(self, packed: Tensor | View) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        if not packed.flat.is_here:
            self._open()
            packed.flat.gathered()
            if packed.flat.unit is not None:
                self._prefetch_beside(packed.flat.unit, -1)
        return packed.tensor()

    # ---- gradients

    def ready(self, flat: Flat, gradients: Sequence[Tensor | None]) -> None:
        """Takes the gradients of a flat tensor's parameters, which are complete."""
        self._open()
        flat.add(gradients)
        if self.syncs and self.stage > 1:
            flat.start_reduction()
        if self.stage == 3:
            flat.release()

    def _open(self) -> None:
        if not self._is_open:
            _C.queue_callback(self._finish)
            self._is_open = True

    def _finish(self) -> None:
        self._is_open = False
        if self.syncs:
            for flat in self.flats:
                if flat.pending is not None:
                    flat.start_reduction()
            for flat in self.flats:
                flat.finish_reductions()
        self.release()

    def forget_failed_pass(self) -> None:
        """Makes the next pass begin anew where one has ended with an error, and has not come to its end."""
        if self._is_open and not in_pass():
            self._is_open = False
            for flat in self.flats:
                flat.forget()


class Rerun:
    """Runs a module's ``forward`` through a function that runs it again in backward.

    Args:
        module: The module.
        inner: What runs in the place of its ``forward``, if anything.
        through: Called with a function and its arguments.
    """

    def __init__(self, module: Module, inner: Callable[..., Any] | None, through: Callable[..., Any]) -> None:
        self._module = module
        self.inner = inner
        self._through = through

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the module gives."""
        return self._through(self._call, *args, **kwargs)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self.inner is not None:
            return self.inner(*args, **kwargs)
        return type(self._module).forward(self._module, *args, **kwargs)


class Unit:
    """A module whose parameters are gathered together."""

    def __init__(self, module: Module, flats: list[Flat], exchange: Exchange, *, is_root: bool) -> None:
        self.flats = flats
        self.exchange = exchange
        self._is_root = is_root
        #: True to keep the whole from forward to backward.
        self.keeps = False
        #: The dtypes to which floating inputs and outputs are brought, if any.
        self.input_dtype: Any = None
        self.output_dtype: Any = None
        exchange.add(self)
        before = module.__dict__.get("forward")
        self._forward = before.inner if isinstance(before, Rerun) else before
        self._module = module
        self._depth = 0
        #: Its place in the order of the last forward pass, and in that of this one; None where it has none.
        self.place: int | None = None
        self.number: int | None = None
        for flat in flats:
            flat.unit = self
        if isinstance(before, Rerun):  # what runs again gathers again
            before.inner = self.run
        else:
            module.__dict__["forward"] = self.run

    def move(self, exchange: Exchange) -> None:
        """Makes it a unit of another model, whose root is another one."""
        self.exchange, self._is_root = exchange, False
        self.place = self.number = None
        exchange.add(self)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module with its parameters in their places."""
        return self._entered(self._call, args, kwargs)

    def wrapped(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that runs a method of the module with its parameters in their places."""
        return lambda *args, **kwargs: self._entered(method, args, kwargs)

    def _entered(self, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self._depth:
            return call(*args, **kwargs)
        if self._is_root and self.exchange.begins_with_root and not self.exchange.running and not in_pass():
            self.exchange.forget_failed_pass()
            with self.exchange.forward_pass():
                return self._run(call, args, kwargs)
        return self._run(call, args, kwargs)

    def _run(self, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self.input_dtype is not None:
            args, kwargs = brought((args, kwargs), self.input_dtype)
        with self._placed():
            found = call(*args, **kwargs)
            return found if self.output_dtype is None else brought(found, self.output_dtype)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Has the parameters in their places, also where a checkpoint runs a part of the module again in backward."""
        if self._depth:
            yield
            return
        self.exchange.entered(self)
        self._depth += 1
        self.exchange.running.append(self)
        try:
            self._place()
            with running_again_in(self._placed):
                yield
        finally:
            self._depth -= 1
            self.exchange.running.pop()
            self._remove()

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward is not None:
            return self._forward(*args, **kwargs)
        return type(self._module).forward(self._module, *args, **kwargs)

    def _place(self) -> None:
        for flat in self.flats:
            if _C.is_grad_enabled() and flat.is_trained:
                pieces: Sequence[Tensor] = Gathered.apply(flat.sources[0], flat, self.exchange.ready)
            else:
                pieces = flat.pieces()
            for slot, piece in zip(flat.slots, pieces, strict=True):
                parameter = slot.placed(piece)
                for module, name in slot.places:
                    module.__dict__[name] = parameter

    def _remove(self) -> None:
        # The model's own are the first that its backward pass asks for. Where a checkpoint has run something again,
        # their gradients come next, and drop them.
        keeps = self.exchange.stage < 3 or ((self._is_root or self.keeps) and _C.is_grad_enabled())
        is_again = in_pass()
        for flat in self.flats:
            for slot in flat.slots:
                for module, name in slot.places:
                    module.__dict__.pop(name, None)
            if not keeps and not (is_again and flat.is_trained):
                flat.release()


def floating(dtype: Any, caller: str) -> Any:
    """Returns the floating dtype that is meant.

    Raises:
        TypeError: It is none.
    """
    found = _C.zeros([0], dtype=dtype).dtype
    if not _C.isdtype(found, "real floating"):
        raise TypeError(f"[{caller}] dtype and reduce_dtype are floating ones, not {found.name}")
    return found


def brought(value: Any, dtype: Any) -> Any:
    """Returns a tree whose floating tensors are in a dtype."""
    tensors, spec = _tree.flatten(value)
    return _tree.rebuild(spec, [x.astype(dtype) if _C.isdtype(x.dtype, "real floating") else x for x in tensors])


def chosen_units(module: Module, units: Units) -> list[Module]:
    """Returns the modules that are units, beside the model itself."""
    if units is None:
        return _members(module)
    types = units if isinstance(units, tuple) else (units,)
    if not callable(units) and not all(isinstance(one, type) for one in types):
        raise TypeError(f"[FullyShardedDataParallel] units are types of modules or a function, not {units!r}")
    asked = units if callable(units) and not isinstance(units, type) else lambda part: isinstance(part, units)  # type: ignore[arg-type]
    return [part for part in module.modules() if part is not module and asked(part)]


def _members(module: Module) -> list[Module]:
    """Returns the members of the outermost containers; a list of modules does not run itself, and is none."""
    found = []
    for child in module.children():
        if isinstance(module, ModuleList | Sequential) and not isinstance(child, ModuleList | ModuleDict):
            found.append(child)
        else:
            found += _members(child)
    return found


def owners_of(module: Module, chosen: Sequence[Module]) -> dict[int, Module]:
    """Returns, by the ids of all modules, the innermost unit that each is part of."""
    units = {id(unit) for unit in chosen}
    found: dict[int, Module] = {}

    def walk(part: Module, owner: Module) -> None:
        owner = part if id(part) in units else owner
        # What two units share belongs to the model itself.
        found[id(part)] = owner if found.get(id(part), owner) is owner else module
        for child in part.children():
            walk(child, owner)

    walk(module, module)
    return found
