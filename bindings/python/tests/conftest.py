"""Every test has a workspace and a person's home of its own."""

import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A fresh workspace as the current folder, with nothing of the person who runs the tests."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TRIPWIRE_ROLE"):
        monkeypatch.delenv(name, raising=False)
    return work


@pytest.fixture
def binary():
    """Runs the command `tripwire` of this repository or of the wheel, in the workspace."""
    program = os.environ.get("TRIPWIRE_BINARY") or shutil.which("tripwire", path=os.path.dirname(sys.executable))
    if not program:
        pytest.skip("NO BINARY: set TRIPWIRE_BINARY, or install the wheel")

    def run(*args, input=None):
        return subprocess.run([program, *args], input=input, capture_output=True, text=True, timeout=60)

    return run
