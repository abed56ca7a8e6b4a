"""Describes the machine that the figures were taken on, and its load meanwhile."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_FLAGS_THAT_MATTER = ("sse4_2", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _field(text: str, name: str) -> str:
    found = re.search(rf"^{re.escape(name)}\s*[:=]\s*\"?(.*?)\"?$", text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def cpu_model() -> str:
    """Returns the processor's name."""
    info = _read("/proc/cpuinfo")
    return _field(info, "model name") or _field(info, "CPU part") or platform.machine()


def usable_cores() -> int:
    """Returns the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def describe() -> dict[str, object]:
    """Returns the machine, without its name or its user's."""
    info = _read("/proc/cpuinfo")
    flags = set((_field(info, "flags") or _field(info, "Features")).split())
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = _read(f"{index}/type").strip()
        if kind != "Instruction":
            caches[f"L{_read(f'{index}/level').strip()}"] = _read(f"{index}/size").strip()
    memory = _field(_read("/proc/meminfo"), "MemTotal").removesuffix(" kB")
    return {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "family_model_stepping": [_field(info, name) for name in ("cpu family", "model", "stepping")],
        "cores": usable_cores(),
        "mhz": _field(info, "cpu MHz"),
        "flags": [flag for flag in _FLAGS_THAT_MATTER if flag in flags],
        "caches": caches,
        "virtual": "hypervisor" in flags,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        "memory_gib": round(int(memory) / 2**20, 1) if memory else None,
        "transparent_huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled").strip(),
        "system": _field(_read("/etc/os-release"), "PRETTY_NAME"),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
    }


@dataclass(frozen=True)
class Load:
    """A period of the machine's time, as shares of all cores."""

    #: Share of time used by processes other than the benchmarks'.
    others: float
    #: Share of time that the hypervisor gave to other machines.
    stolen: float


class LoadMeter:
    """Measures how busy others keep the machine, from its creation on."""

    def __init__(self, own: Iterable[int] = ()) -> None:
        self._own = list(own)
        self._start = self._sample()

    def load(self) -> Load:
        """Returns the load since the start."""
        before, now = self._start, self._sample()
        total = max(now[0] - before[0], 1.0)
        others = (now[1] - before[1]) - (now[2] - before[2])
        return Load(max(0.0, others / total), (now[3] - before[3]) / total)

    def _sample(self) -> tuple[float, float, float, float]:
        """Ticks so far: of all cores, busy, of our processes, stolen."""
        fields = [float(x) for x in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
        user, nice, system, idle, iowait, irq, softirq, steal = fields
        busy = user + nice + system + irq + softirq
        own = sum(self._own_ticks(pid) for pid in [os.getpid(), *self._own])
        return busy + idle + iowait + steal, busy, own, steal

    @staticmethod
    def _own_ticks(pid: int) -> float:
        after_name = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        # utime, stime, and both times of children that have ended
        return sum(float(x) for x in after_name[11:15])


def load_over(seconds: float) -> Load:
    """Measures the load during the next `seconds`, in which the caller does nothing."""
    meter = LoadMeter()
    time.sleep(seconds)
    return meter.load()
