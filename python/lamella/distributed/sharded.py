"""Training of one model on several processes, each of which keeps a part of its parameters, gradients and state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..autograd import saved_tensors_hooks
from ..nn import Module, ModuleDict, ModuleList, Parameter, Sequential
from . import _sharded_state
from ._flat import Flat, Gathered, View, restored
from ._groups import get_group, group_of
from ._models import broadcast_tensors, check_equal, in_pass
from ._norms import clip_over
from ._parts import Part

__all__ = ["FullyShardedDataParallel"]

#: Parts of a model that are gathered together: modules of these types, or those of which a function says so.
Units = type | tuple[type, ...] | Callable[[Module], bool] | None


class FullyShardedDataParallel(Module):
    """A model of which each process keeps a part, and gathers the parameters of one unit at a time to compute with.

    What each process computes is what :class:`DistributedDataParallel` computes; what it keeps is the n-th part of

    ======  =======================================================================================
    stage   is cut over the processes
    ======  =======================================================================================
    1       the optimizer's state; gradients are whole until the pass ends
    2       and the gradients, each unit's as soon as it is complete
    3       and the parameters, which are gathered before a unit runs, and dropped after it has run
    ======  =======================================================================================

    (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020.) While a unit
    runs, the parameters of the next one are on their way; in the backward pass, those of the one before.

    The parameters of a unit lie one after the other in flat tensors, one for each dtype. :meth:`parameters` gives this
    process's parts of these, which optimizers move: make the optimizer afterwards, and take one that moves each element
    by itself (not LAMB, LARS, Muon, Adafactor or LBFGS). The modules below have their parameters while they run, and
    within :meth:`summon_full_params`. A group of one process leaves the model as it is.

    Args:
        module: The model, of which the processes take the parameters and buffers of rank 0. It is the attribute
            ``module``; names in states are its own, without a prefix.
        stage: 1, 2 or 3.
        group: The processes, or their group's name; None is the default group.
        units: What makes a unit: types of modules, or a function that is asked for each module. By default the members
            of the outermost ``ModuleList`` and ``Sequential`` are units. What is in none belongs to the model itself,
            as does a parameter that several units share.
        group_by: Called with a parameter's name and the parameter; those for which it returns different keys do not lie
            in one flat tensor, and :meth:`shards` tells them apart: for options of an optimizer that differ.
        broadcast_buffers: True to begin each forward pass with the buffers of rank 0, such as running statistics.

    Raises:
        ValueError: The stage is none, no parameter wants a gradient, or the models of the processes differ.
        RuntimeError: There is no process group.
    """

    def __init__(
        self,
        module: Module,
        *,
        stage: int = 3,
        group: ProcessGroup | str | None = None,
        units: Units = None,
        group_by: Callable[[str, Parameter], Hashable] | None = None,
        broadcast_buffers: bool = True,
    ) -> None:
        super().__init__()
        if stage not in (1, 2, 3):
            raise ValueError(f"[FullyShardedDataParallel] stage is 1, 2 or 3, not {stage!r}")
        if all(p.stop_gradient for p in module.parameters()):
            raise ValueError("[FullyShardedDataParallel] no parameter of the model wants a gradient: use it as it is")
        self.module = module
        self.stage = stage
        self.broadcast_buffers = broadcast_buffers
        self._group = group_of(group).name
        self._keys = {id(p): group_by(name, p) for name, p in module.named_parameters()} if group_by else {}
        self._orders = [(m, list(m._parameters)) for m in module.modules() if m._parameters]
        self._units: list[_Unit] = []
        self._exchange = _Exchange(stage)
        if self.group.size > 1:
            check_equal(module, self.group, "FullyShardedDataParallel")
            broadcast_tensors([*module.parameters(), *module.buffers()], 0, self.group)
            self._cut(_chosen(module, units))

    def _cut(self, chosen: Sequence[Module]) -> None:
        """Takes the parameters out of the modules, and puts shards of them in their place."""
        names: dict[int, list[str]] = {}
        places: dict[int, list[tuple[Module, str]]] = {}
        owners: dict[int, Module] = {}
        found: dict[int, Parameter] = {}
        owner_of = _owners(self.module, chosen)
        for path, part in self.module.named_modules(remove_duplicate=False):
            for name, p in part._parameters.items():
                if p is None:
                    continue
                found[id(p)] = p
                names.setdefault(id(p), []).append(f"{path}.{name}" if path else name)
                if (part, name) not in places.setdefault(id(p), []):
                    places[id(p)].append((part, name))
                owner = owner_of[id(part)]
                if owners.setdefault(id(p), owner) is not owner:
                    owners[id(p)] = self.module
        for unit in [self.module, *chosen]:
            kinds: dict[Any, list[Any]] = {}
            for key, p in found.items():
                if owners[key] is unit:
                    kind = p.dtype.name, p.device, bool(p.stop_gradient), self._keys.get(key)
                    kinds.setdefault(kind, []).append((p, tuple(names[key]), tuple(places[key])))
            flats = [Flat(listed, kind[-1], self.group) for kind, listed in kinds.items()]
            if flats or unit is self.module:
                self._units.append(_Unit(unit, flats, self._exchange, is_root=unit is self.module))
        self._keys = {}
        for listed in places.values():
            for part, name in listed:
                del part._parameters[name]
        self._exchange.flats = [flat for unit in self._units for flat in unit.flats]
        for number, flat in enumerate(self._exchange.flats):
            self._parameters[f"shard{number}"] = flat.shard

    @property
    def group(self) -> ProcessGroup:
        """The processes."""
        return get_group(self._group)

    @property
    def sharing(self) -> list[str]:
        """Names of the groups over which gradients are cut: none for one process."""
        return [self._group] if self._exchange.flats else []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the model gives for the arguments."""
        exchange = self._exchange
        if not exchange.flats:
            return self.module(*args, **kwargs)
        exchange.forget_failed_pass()
        if self.broadcast_buffers and self.training and exchange.syncs and _C.is_grad_enabled():
            broadcast_tensors(list(self.module.buffers()), 0, self.group)
        with exchange.forward_pass():
            return self.module(*args, **kwargs)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops all gradients, also those that passes within :meth:`no_sync` have added up."""
        super().zero_grad(set_to_none)
        for flat in self._exchange.flats:
            flat.pending = None

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Adds gradients up without communication: in backward passes within this context, each process by itself.

        Gradients are whole meanwhile, in every stage. The next pass outside takes the mean of all that was added up.
        """
        before, self._exchange.syncs = self._exchange.syncs, False
        try:
            yield
        finally:
            self._exchange.syncs = before

    def shards(self, key: Hashable = None) -> list[Parameter]:
        """Returns this process's parts of the parameters for which ``group_by`` returned a key.

        Raises:
            ValueError: There are none.
        """
        if not self._exchange.flats:
            keys = self._keys
            found = [p for p in self.module.parameters() if keys.get(id(p)) == key]
        else:
            found = [flat.shard for flat in self._exchange.flats if flat.key == key]
        if not found:
            raise ValueError(f"[FullyShardedDataParallel] group_by returned {key!r} for no parameter")
        return found

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales the gradients of all parameters by one factor so that their norm is at most ``max_norm``.

        The norm is that of the whole gradients, over all processes; see :func:`lamella.nn.utils.clip_grad_norm_`.

        Args:
            max_norm: The largest norm.
            norm_type: The order of the norm; ``inf`` for the largest absolute value.

        Returns:
            The norm before, a tensor of no axes, the same on all processes.

        Raises:
            TypeError: A number is none.
            ValueError: ``max_norm`` is below 0 or NaN, or the order is not above 0.
        """
        return clip_over(list(self.parameters()), max_norm, norm_type, self.sharing)

    @contextmanager
    def summon_full_params(self, writeback: bool = True) -> Iterator[None]:
        """Has the modules' whole parameters in their places within this context; all processes enter it together.

        Args:
            writeback: True to keep what is written to them, which is the same on all processes.

        Raises:
            RuntimeError: The model is running.
        """
        if self._exchange.running:
            raise RuntimeError("[summon_full_params] the model is running: call it before or after")
        with restored(self._exchange.flats, self._orders, writeback) if self._exchange.flats else nullcontext():
            yield
        self._exchange.release()

    # ---- states

    def state_dict(self, prefix: str = "", *, keep_vars: bool = False) -> dict[str, Any]:
        """Returns the whole parameters and buffers, on every process, by the names that the model alone would give.

        All processes call it together.

        Args:
            prefix: A path that stands, with a dot, before each name.
            keep_vars: False: the tensors are copies, as no process keeps the whole.

        Raises:
            ValueError: ``keep_vars`` is True.
        """
        if keep_vars and self._exchange.flats:
            raise ValueError("[state_dict] keep_vars=False: of the parameters, each process keeps a part only")
        with self.summon_full_params(writeback=False):
            state = self.module.state_dict(prefix, keep_vars=keep_vars)
            if not self._exchange.flats:
                return state
            return {name: x.clone() if isinstance(x, Tensor) else x for name, x in state.items()}

    def load_state_dict(self, state: Any, strict: bool = True, assign: bool = False) -> Any:
        """Takes over whole parameters and buffers, as :meth:`state_dict` gives them, or parts.

        All processes call it together, with the same state or with what :meth:`sharded_state_dict` gave each.

        Args:
            state: Tensors by name, or parts.
            strict: False lets entries be missing or unexpected.
            assign: As for modules.

        Returns:
            The missing and the unexpected names.

        Raises:
            StateDictError: Names every entry that does not fit.
        """
        if any(isinstance(x, Part) for x in state.values()):
            state = _sharded_state.whole(state, self.group)
        with self.summon_full_params():
            return self.module.load_state_dict(state, strict=strict, assign=assign)

    def sharded_state_dict(self) -> dict[str, Any]:
        """Returns this process's parts of parameters, and the buffers, by name: nothing is sent.

        The parts share the memory of the shards.
        """
        return _sharded_state.of_model(self.module, self._exchange.flats, self._orders)

    def optimizer_state_dict(self, optimizer: Any, *, sharded: bool = False) -> dict[str, Any]:
        """Returns the state of an optimizer of the shards, by the names of the parameters.

        Args:
            optimizer: Moves what :meth:`parameters` gives.
            sharded: True for this process's parts, without communication; otherwise whole tensors on every process,
                which all ask for together.

        Returns:
            ``{"state": {name: {...}}, "param_groups": [{option: value, ..., "params": [names]}]}``.
        """
        state = _sharded_state.of_optimizer(optimizer, self.module, self._exchange.flats)
        return state if sharded or not self._exchange.flats else _sharded_state.whole(state, self.group)

    def load_optimizer_state_dict(self, optimizer: Any, state: dict[str, Any]) -> None:
        """Takes over what :meth:`optimizer_state_dict` gave, here or on another number of processes.

        Args:
            optimizer: Moves what :meth:`parameters` gives.
            state: Whole tensors, or parts of this number of processes.

        Raises:
            ValueError: The state lacks a parameter, or its groups are others.
        """
        if any(isinstance(x, Part) for values in state["state"].values() for x in values.values()):
            state = _sharded_state.whole(state, self.group)
        _sharded_state.load_optimizer(optimizer, state, self.module, self._exchange.flats)


class _Exchange:
    """Gathers units before they run, and reduces the gradients of those that are complete."""

    def __init__(self, stage: int) -> None:
        self.stage = stage
        self.syncs = True
        self.running = 0
        self.flats: list[Flat] = []
        #: Units in the order in which they first ran in the last forward pass, and in this one.
        self._order: list[_Unit] = []
        self._seen: list[_Unit] = []
        self._is_open = False

    @contextmanager
    def forward_pass(self) -> Iterator[None]:
        """Runs a forward pass, whose saved tensors do not keep parameters that stage 3 drops."""
        self._seen = []
        drops = self.stage == 3 and _C.is_grad_enabled()
        hooks: AbstractContextManager[Any] = saved_tensors_hooks(self._pack, self._unpack) if drops else nullcontext()
        try:
            with hooks:
                yield
        finally:
            self._order = self._seen
            if not drops:
                self.release()

    def entered(self, unit: _Unit) -> None:
        """Gathers a unit that is about to run, and starts to gather the next one."""
        if unit not in self._seen:
            self._seen.append(unit)
        for flat in unit.flats:
            flat.gathered()
        # A checkpoint runs units again in backward, from the last one to the first.
        self._prefetch_beside(unit, -1 if in_pass() else 1)

    def _prefetch_beside(self, unit: _Unit, step: int) -> None:
        at = self._order.index(unit) + step if unit in self._order else -1
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
        for flat in self.flats:
            if flat.is_here and (view := flat.view_of(x)) is not None:
                return view
        return x

    def _unpack(self, packed: Tensor | View) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        if not packed.flat.is_here:
            self._open()
            packed.flat.gathered()
            unit = next((unit for unit in self._order if packed.flat in unit.flats), None)
            if unit is not None:
                self._prefetch_beside(unit, -1)
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


class _Unit:
    """A module whose parameters are gathered together."""

    def __init__(self, module: Module, flats: list[Flat], exchange: _Exchange, *, is_root: bool) -> None:
        self.flats = flats
        self._exchange = exchange
        self._is_root = is_root
        self._forward = module.__dict__.get("forward")
        self._module = module
        self._depth = 0
        module.__dict__["forward"] = self.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module with its parameters in their places."""
        if self._depth:
            return self._call(*args, **kwargs)
        self._exchange.entered(self)
        self._depth += 1
        self._exchange.running += 1
        try:
            self._place()
            return self._call(*args, **kwargs)
        finally:
            self._depth -= 1
            self._exchange.running -= 1
            self._remove()

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward is not None:
            return self._forward(*args, **kwargs)
        return type(self._module).forward(self._module, *args, **kwargs)

    def _place(self) -> None:
        for flat in self.flats:
            if _C.is_grad_enabled() and flat.is_trained:
                pieces: Sequence[Tensor] = Gathered.apply(flat.shard, flat, self._exchange.ready)
            else:
                pieces = flat.pieces()
            for slot, piece in zip(flat.slots, pieces, strict=True):
                for module, name in slot.places:
                    module.__dict__[name] = piece

    def _remove(self) -> None:
        # The model's own are the first that its backward pass asks for.
        keeps = self._exchange.stage < 3 or (self._is_root and _C.is_grad_enabled())
        for flat in self.flats:
            for slot in flat.slots:
                for module, name in slot.places:
                    module.__dict__.pop(name, None)
            if not keeps:
                flat.release()


def _chosen(module: Module, units: Units) -> list[Module]:
    """Returns the modules that are units, beside the model itself."""
    if units is None:
        return _members(module)
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


def _owners(module: Module, chosen: Sequence[Module]) -> dict[int, Module]:
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
