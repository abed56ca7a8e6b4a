#!/usr/bin/env python3
"""Checks the machine code of CUDA kernels: check_cuda_code.py LIBRARY [CUOBJDUMP].

Where device code reads what exists on the host alone, such as an element of a constexpr array, nvcc says nothing and
writes a trap, by which the kernel ends with "unspecified launch failure". No kernel of the library has a reason for
one. CUDA's cuobjdump takes the code out of the library.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: BPT, whose only use in a kernel is a trap: the low bits of an instruction of 128 bits (compute capability 7.0 on).
TRAP, OPCODE, INSTRUCTION = 0x95C, 0xFFF, 16


def code_sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the names of kernels and functions with their instructions, from a file of ELF64."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, start + i * size) for i in range(count)]
    names = elf[headers[names_at][4] :]
    for name, _, _, _, offset, length in headers:
        text = names[name : names.index(b"\0", name)].decode()
        if text.startswith(".text."):
            yield text.removeprefix(".text."), elf[offset : offset + length]


def traps(code: bytes) -> int:
    """Returns the number of traps among instructions."""
    return sum(code[i] | (code[i + 1] & 0xF) << 8 == TRAP for i in range(0, len(code) - 1, INSTRUCTION))


def main() -> int:
    """Returns the exit status."""
    library, tool = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "cuobjdump"
    kernels, trapped = 0, []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tool, "--extract-elf", "all", library], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for cubin in sorted(Path(folder).iterdir()):
            for name, code in code_sections(cubin.read_bytes()):
                kernels += 1
                if traps(code):
                    trapped.append(name)
    for name in trapped:
        print(f"{name} has a trap: it uses something that exists on the host alone")
    print(f"{kernels} kernels in {library.name}, {len(trapped)} with a trap")
    return 1 if trapped or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
