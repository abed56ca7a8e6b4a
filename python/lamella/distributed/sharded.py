"""Training of one model on several processes, each of which keeps a part of its parameters, gradients and state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn, Self

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module, Parameter
from . import _sharded_state
from ._bundle import Bundle
from ._flat import Flat, restored
from ._groups import get_group, group_of
from ._models import broadcast_tensors, check_equal, check_module
from ._nested import absorbed, left_out
from ._norms import clip_over, clip_over_some
from ._parts import Part
from ._units import Exchange, Unit, Units, brought, chosen_units, floating, owners_of
from .global_tensor import GlobalTensor

__all__ = ["FullyShardedDataParallel"]


class FullyShardedDataParallel(Module):
    """A model of which each process keeps a part, and gathers the parameters of one unit at a time to compute with.

    What each process computes is what :class:`DistributedDataParallel` computes; of n processes, each keeps the n-th
    part of what the stage says:

    - 1: the optimizer's state; gradients are whole until the pass ends;
    - 2: the gradients, too, each unit's as soon as it is complete;
    - 3: the parameters, too, which are gathered before a unit runs, and dropped after it has run.

    (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020.) While a unit
    runs, the parameters of the next one are on their way; in the backward pass, those of the one before.

    The parameters of a unit lie one after the other in flat tensors, one for each dtype. :meth:`parameters` gives this
    process's parts of these, which optimizers move: make the optimizer afterwards, and take one that moves each element
    by itself (not LAMB, LARS, Muon, Adafactor or LBFGS). The modules below have their parameters while they run, and
    within :meth:`summon_full_params`. A group of one process leaves the model as it is, unless `dtype` is another.

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
        dtype: The dtype in which parameters are gathered and the model computes, such as ``"bfloat16"``; the shards,
            their gradients and the optimizer's state stay as they are. Floating inputs are brought to it. None is the
            parameters' own.
        reduce_dtype: The dtype in which gradients are sent; by default that in which they were computed.
        ignored: Modules and parameters that are left as they are: whole, and with each process's own gradients.
        replicas: The processes that keep the same part as this one and have other samples, or their group's name: with
            a group within a machine and one across machines, parameters are gathered within.
        named: True to give each parameter a shard of its own, a row under the parameter's name, so that
            ``named_parameters`` tells them apart.

    A part of the model may be such a model already: it becomes a unit of this one, with this one's stage and options,
    and its place is taken by what it has wrapped.

    Raises:
        TypeError: `module` is no module, or `units` are neither types nor a function.
        ValueError: The stage is none, no parameter wants a gradient, one is a global tensor, a part of the model is
            such a model of another group, or the models of the processes differ.
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
        dtype: Any = None,
        reduce_dtype: Any = None,
        ignored: Iterable[Module | Tensor] = (),
        replicas: ProcessGroup | str | None = None,
        named: bool = False,
    ) -> None:
        super().__init__()
        check_module(module, "FullyShardedDataParallel")
        if type(stage) is not int or stage not in (1, 2, 3):
            raise ValueError(f"[FullyShardedDataParallel] stage is 1, 2 or 3, not {stage!r}")
        self._group = group_of(group).name
        self._replicas = None if replicas is None or group_of(replicas).size == 1 else group_of(replicas).name
        inner = absorbed(module, FullyShardedDataParallel, self._group)
        is_trained = any(flat.is_trained for one in inner for flat in one.flats)
        if not is_trained and all(p.stop_gradient for p in module.parameters()):
            raise ValueError("[FullyShardedDataParallel] no parameter of the model wants a gradient: use it as it is")
        left = left_out(ignored)
        others = [rank for rank in self.group.ranks if rank != self.group.ranks[self.group.rank]]
        for name, p in module.named_parameters():
            if isinstance(p, GlobalTensor) and id(p) not in left and set(p.placement.ranks) & set(others):
                raise ValueError(
                    f"[FullyShardedDataParallel] '{name}' is a global tensor over processes of the group, which lie "
                    "along another axis: give group= those that have the same part of it"
                )
        self.module = module
        self.stage = stage
        self.broadcast_buffers = broadcast_buffers
        self._dtypes = tuple(
            None if one is None else floating(one, "FullyShardedDataParallel") for one in (dtype, reduce_dtype)
        )
        self._keys = {id(p): group_by(name, p) for name, p in module.named_parameters()} if group_by else {}
        self._is_named = named
        self._exchange = Exchange(stage)
        chosen_units(module, units)  # says what is wrong with them before anything changes
        for one in inner:
            one.join(module, self._exchange)
        self._orders = [order for one in inner for order in one.orders]
        known = {id(m) for m, _ in self._orders}
        self._orders += [(m, list(m._parameters)) for m in module.modules() if m._parameters and id(m) not in known]
        if self.group.size > 1 or self._replicas is not None or self._dtypes[0] is not None:
            for processes in self._groups():
                check_equal(module, processes, "FullyShardedDataParallel")
                broadcast_tensors([*module.parameters(), *module.buffers()], 0, processes)
            self._cut(chosen_units(module, units), left)

    def _cut(self, chosen: Sequence[Module], left: set[int]) -> None:
        """Takes the parameters out of the modules, and puts shards of them in their place."""
        names: dict[int, list[str]] = {}
        places: dict[int, list[tuple[Module, str]]] = {}
        owners: dict[int, Module] = {}
        found: dict[int, Parameter] = {}
        owner_of = owners_of(self.module, chosen)
        for path, part in self.module.named_modules(remove_duplicate=False):
            for name, p in part._parameters.items():
                if p is None or id(p) in left:
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
                    place = (p.placement, p.sbp) if isinstance(p, GlobalTensor) else None
                    kind = p.dtype.name, p.device, bool(p.stop_gradient), place, self._keys.get(key)
                    kinds.setdefault(kind, []).append((p, tuple(names[key]), tuple(places[key])))
            kept = Bundle if self._is_named else Flat
            flats: list[Flat] = [kept(listed, kind[-1], self.group) for kind, listed in kinds.items()]
            if flats or unit is self.module:
                Unit(unit, flats, self._exchange, is_root=unit is self.module)
        self._keys = {}
        for listed in places.values():
            for part, name in listed:
                del part._parameters[name]
        for number, flat in enumerate(self._exchange.flats):
            flat.compute_dtype, flat.reduce_dtype = self._dtypes
            flat.replicas = () if self._replicas is None else (self._replicas,)
            flat.settle(self._parameters, f"shard{number}")
        if self._is_named:  # the order is that of the model
            order = {listed[0]: number for number, listed in enumerate(names.values())}
            table = sorted(self._parameters.items(), key=lambda item: order.get(item[0], -1))
            self._parameters.clear()
            self._parameters.update(table)

    @property
    def group(self) -> ProcessGroup:
        """The processes."""
        return get_group(self._group)

    def _groups(self) -> list[ProcessGroup]:
        """Returns the groups over which the model is to be the same: first along one axis, then along the other."""
        return [*([] if self._replicas is None else [get_group(self._replicas)]), self.group]

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
            for one in self._groups():
                broadcast_tensors(list(self.module.buffers()), 0, one)
        if (dtype := self._dtypes[0]) is not None:
            args, kwargs = brought((args, kwargs), dtype)
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
            found = [member.tensor for flat in self._exchange.flats if flat.key == key for member in flat.members()]
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
        return self.clip_over(max_norm, norm_type, ())

    def clip_over(self, max_norm: float, norm_type: float, groups: Sequence[str]) -> Tensor:
        """Does what :meth:`clip_grad_norm_` does, for gradients that lie over further groups, such as a pipeline's."""
        split: dict[tuple[str, ...], list[Tensor]] = {}
        for flat in self._exchange.flats:
            split.setdefault(flat.split_over, []).extend(member.tensor for member in flat.members())
        over = [*self.sharing, *groups]
        if list(split) in ([], [()]):
            return clip_over(list(self.parameters()), max_norm, norm_type, over)
        return clip_over_some(split, max_norm, norm_type, over)

    @contextmanager
    def summon_full_params(self, writeback: bool = True, with_grads: bool = False) -> Iterator[None]:
        """Has the modules' whole parameters in their places within this context; all processes enter it together.

        Args:
            writeback: True to keep what is written to them, which is the same on all processes.
            with_grads: True to have their whole gradients in their ``grad``, as copies.

        Raises:
            RuntimeError: The model is running.
        """
        with self._summoned(writeback, with_grads):
            yield

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Calls a function on every module, while they have their whole parameters, and keeps what it writes to them.

        What the function does is the same on all processes.
        """
        with self._summoned(writeback=True):
            self.module.apply(function)
        function(self)
        return self

    @contextmanager
    def _summoned(self, writeback: bool, with_grads: bool = False) -> Iterator[None]:
        if self._exchange.running:
            raise RuntimeError("[summon_full_params] the model is running: call it before or after")
        flats = self._exchange.flats
        try:
            with restored(flats, self._orders, writeback, with_grads) if flats else nullcontext():
                yield
        finally:
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
        with self._summoned(writeback=False):
            state = self.module.state_dict(keep_vars=keep_vars)
            if self._exchange.flats:
                state = {name: x.clone() if isinstance(x, Tensor) else x for name, x in state.items()}
        return {f"{prefix}.{name}": x for name, x in state.items()} if prefix else state

    def _save(self, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        # Called by a module that this one is a part of.
        state.update((prefix + name, x) for name, x in self.state_dict(keep_vars=keep_vars).items())

    def _all_places(self, prefix: str = "") -> NoReturn:
        raise RuntimeError(
            f"[load_state_dict] '{prefix.removesuffix('.')}' is cut over processes: call load_state_dict of that part"
        )

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
        with self._summoned(writeback=True):
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
        optimizer.load_state_dict(_sharded_state.for_optimizer(optimizer, state, self.module, self._exchange.flats))
