"""How the library is built: what is compiled, and what is said where that fails."""

import sys

import pytest

from native import build

# Writes what it is told to make, and notes what for.
COMPILER = """
import pathlib, sys
arguments = sys.argv[1:]
pathlib.Path(arguments[arguments.index("-o") + 1]).write_text("made")
with open({log!r}, "a") as log:
    print(*[pathlib.Path(each).name for each in arguments if each.endswith(".cpp")] or ["link"], file=log)
sys.exit(any("-DBROKEN" in pathlib.Path(each).read_text() for each in arguments if each.endswith(".cpp")))
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return a folder with two units and a header, for which a compiler that only takes notes is used."""
    folder = tmp_path / "native"
    folder.mkdir()
    for name in ("one.cpp", "two.cpp", "both.hpp"):
        (folder / name).write_text("")
    (tmp_path / "compiler.py").write_text(COMPILER.format(log=str(tmp_path / "log")))
    monkeypatch.setattr(build, "SOURCES", folder)
    monkeypatch.setenv("CXX", f"{sys.executable} {tmp_path / 'compiler.py'}")
    return folder


def compiled(folder):
    """Build, and return which units were compiled."""
    log = folder.parent / "log"
    log.unlink(missing_ok=True)
    library = build.build(folder.parent, folder.parent / "objects")
    assert library.read_text() == "made"
    return sorted(line for line in log.read_text().splitlines() if line != "link")


def test_only_what_changed_is_compiled_again(sources, monkeypatch):
    assert compiled(sources) == ["one.cpp", "two.cpp"]
    assert compiled(sources) == []
    (sources / "one.cpp").write_text("// changed")
    assert compiled(sources) == ["one.cpp"]
    (sources / "both.hpp").write_text("// changed")
    assert compiled(sources) == ["one.cpp", "two.cpp"]
    monkeypatch.setenv("SALTMINE_ARCH", "x86-64-v3")
    assert compiled(sources) == ["one.cpp", "two.cpp"]
    (sources / "two.cpp").unlink()
    assert compiled(sources) == []
    assert len(list((sources.parent / "objects").glob("*"))) == 1


def test_a_unit_that_cannot_be_compiled_is_named_and_tried_again(sources):
    (sources / "one.cpp").write_text("// -DBROKEN")
    for _ in range(2):
        with pytest.raises(build.BuildError, match=r"^one.cpp could not be compiled: .* ended with exit code 1$"):
            compiled(sources)
    (sources / "one.cpp").write_text("")
    assert compiled(sources) == ["one.cpp"]


def test_a_compiler_that_is_not_there_is_named(sources, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(build.BuildError, match=r"no-such-compiler cannot be started .*; is CXX right\?"):
        compiled(sources)


def test_without_a_compiler_a_package_with_one_is_asked_for(sources, monkeypatch):
    monkeypatch.delenv("CXX")
    assert build.find_compiler() is None or build.requirements() == []
    monkeypatch.setenv("PATH", str(sources))
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    assert build.requirements() == ["ziglang"]
    with pytest.raises(build.BuildError, match=r"needs a C\+\+ compiler .*: install g\+\+ or clang, name one in CXX"):
        compiled(sources)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: name == "ziglang")
    assert build.find_compiler() == [sys.executable, "-m", "ziglang", "c++"]
    assert build.requirements() == []


def test_zig_spells_processors_in_its_own_way(monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("SALTMINE_ARCH", "x86-64-v3")
    assert build._arch_flags(["/usr/bin/g++"]) == ["-march=x86-64-v3"]
    assert build._arch_flags([sys.executable, "-m", "ziglang", "c++"]) == ["-march=x86_64_v3"]
    assert build._arch_flags(["/opt/zig/zig", "c++"]) == ["-march=x86_64_v3"]
    monkeypatch.delenv("SALTMINE_ARCH")
    assert build._arch_flags(["/usr/bin/g++"]) == ["-march=native"]
