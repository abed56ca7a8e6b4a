"""Fetches packages and sources of other Debian releases than the one that runs, without installing them.

apt does it, with settings of its own in a folder of its own, from the server that the system's own settings name.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

RELEASES = ("bullseye", "bookworm", "trixie", "sid")
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Archive:
    """Debian's packages, by release."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.environment = os.environ | {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}

    def _prepare(self) -> None:
        """Writes apt's settings, and reads the lists of packages, once."""
        if (self.folder / "apt.conf").exists():
            return
        targets = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages"],
            check=True, capture_output=True, text=True,
        ).stdout.split("\n")  # fmt: skip
        server = next(
            (line.split()[2] for line in targets if line.startswith("Debian ") and "-" not in line.split()[1]), None
        )
        if server is None:
            raise SystemExit("no server of Debian's is known to apt: wheels are made on Debian, after apt-get update")
        for name in ("lists/partial", "cache/archives/partial", "parts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        kinds = [
            f"{kind} [signed-by={_KEYRING}] {server} {release} main"
            for release in RELEASES
            for kind in ("deb", "deb-src")
        ]
        (self.folder / "sources.list").write_text("\n".join(kinds) + "\n")
        draft = self.folder / "apt.conf.new"
        draft.write_text(
            f'Dir::State::lists "{self.folder}/lists";\nDir::Cache "{self.folder}/cache";\n'
            f'Dir::Etc::sourcelist "{self.folder}/sources.list";\nDir::Etc::sourceparts "{self.folder}/parts";\n'
            'APT::Sandbox::User "root";\n'
        )
        self._run("apt-get", "update", "-qq", environment={"APT_CONFIG": str(draft)})
        draft.rename(self.folder / "apt.conf")

    def _run(self, *command: str, environment: dict[str, str] | None = None, folder: Path | None = None) -> None:
        done = subprocess.run(
            command,
            env=self.environment | (environment or {}),
            cwd=folder or self.folder,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")

    def package(self, name: str, release: str) -> Path:
        """Returns a folder with the files of a package of this machine's architecture."""
        unpacked = self.folder / "packages" / f"{name}-{release}"
        if not unpacked.exists():
            self._prepare()
            download = self.folder / "download" / f"{name}-{release}"
            download.mkdir(parents=True, exist_ok=True)
            self._run("apt-get", "download", f"{name}/{release}", folder=download)
            draft = unpacked.with_suffix(".new")
            draft.mkdir(parents=True, exist_ok=True)
            self._run("dpkg-deb", "-x", str(next(download.glob("*.deb"))), str(draft))
            draft.rename(unpacked)
        return unpacked

    def source(self, name: str, release: str) -> Path:
        """Returns a folder with a package's source, as its authors published it."""
        unpacked = self.folder / "sources" / f"{name}-{release}"
        if not unpacked.exists():
            self._prepare()
            download = self.folder / "download" / f"{name}-{release}-source"
            download.mkdir(parents=True, exist_ok=True)
            self._run("apt-get", "source", "--download-only", f"{name}/{release}", folder=download)
            draft = unpacked.with_suffix(".new")
            draft.mkdir(parents=True, exist_ok=True)
            archive = next(path for path in download.glob("*.orig.tar.*") if not path.name.endswith(".asc"))
            self._run("tar", "-xf", str(archive), "-C", str(draft), "--strip-components=1")
            draft.rename(unpacked)
        return unpacked
