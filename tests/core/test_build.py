"""How the core is built: with which compiler, what is said without one, and what is compiled for a processor."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backend(monkeypatch):
    """Return the build backend, as if it ran on a system without a compiler."""
    pytest.importorskip("scikit_build_core")
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "core" / "build_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return module


def test_without_a_compiler_a_package_with_one_is_asked_for(backend, monkeypatch):
    assert "ziglang" in backend.get_requires_for_build_wheel()
    monkeypatch.setenv("CXX", "my-compiler")
    assert "ziglang" not in backend.get_requires_for_build_editable()


def test_without_any_compiler_the_way_out_is_said(backend, monkeypatch):
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"needs a C\+\+17 compiler: install g\+\+ or clang, name one in CXX, or run"):
        backend.build_wheel("nowhere")


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Compile the loops of every processor."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or shutil.which("nm") is None:
        pytest.skip("there is no compiler, or no nm")
    folder = tmp_path_factory.mktemp("kernels")
    commands = {"v3": ["-mavx2"], "v4": ["-mavx512f", "-mavx512vl", "-mavx512vpopcntdq"]}
    if os.uname().machine != "x86_64":
        commands = {"baseline": []}
    for name, flags in commands.items():
        for level in ("-O0", "-O3"):
            command = [compiler, "-std=c++17", level, *flags, f"-DSALTMINE_CPU={name}", "-fPIC", "-c"]
            source = ROOT / "core" / "kernels" / "kernels.cpp"
            subprocess.run([*command, str(source), "-o", str(folder / f"{name}{level}.o")], check=True)
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_loops_share_no_code_with_other_processors(objects):
    # The linker keeps one copy of what several files define, whichever processor it was compiled for.
    for file in objects:
        listed = subprocess.run(["nm", "-C", "--defined-only", str(file)], capture_output=True, text=True, check=True)
        name = file.name.split("-")[0]
        shared = [line for line in listed.stdout.splitlines() if line.split()[1] in "WVu" and f"::{name}::" not in line]
        assert shared == [], file.name
