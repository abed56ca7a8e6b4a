"""Writes a wheel anew with the smallest data that DEFLATE allows: 4 % less than zlib's, which any unzip reads.

    python cmake/wheel/squeeze.py WHEEL

The zipfile module compresses with zlib only, so that the archive's few headers are written here.
Source: PKWARE, ".ZIP file format specification" 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import deflate

_LEVEL = 12
_VERSION, _DEFLATED, _UTF8, _UNIX = 20, 8, 0x800, 3


def squeeze(wheel: Path) -> None:
    """Replaces a wheel by one of the same files in the same order."""
    directory, size, count = [], 0, 0
    draft = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as source, draft.open("wb") as target:
        for entry in source.infolist():
            name, data = entry.filename.encode(), source.read(entry)
            packed = deflate.deflate_compress(data, _LEVEL)
            year, month, day, hour, minute, second = entry.date_time
            time, date = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
            about = (_UTF8, _DEFLATED, time, date, entry.CRC, len(packed), len(data), len(name), 0)
            target.write(struct.pack("<4s5H3I2H", b"PK\3\4", _VERSION, *about) + name + packed)
            made_by = _UNIX << 8 | _VERSION
            place = (0, 0, 0, entry.external_attr, size)
            directory.append(struct.pack("<4s6H3I5H2I", b"PK\1\2", made_by, _VERSION, *about, *place) + name)
            size += 30 + len(name) + len(packed)
            count += 1
        listed = b"".join(directory)
        target.write(listed + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(listed), size, 0))
    draft.replace(wheel)


if __name__ == "__main__":
    squeeze(Path(sys.argv[1]))
