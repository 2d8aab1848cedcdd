"""How much memory may be used: what users write, and what containers and limits leave."""

from __future__ import annotations

import subprocess
import sys

import pytest

from saltmine.memory import (
    MemoryLimitError,
    _control_groups,
    available_memory,
    format_size,
    memory_limit,
    parse_size,
)

GB = 1024**3


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("1", 1), ("2G", 2 * GB), ("2g", 2 * GB), ("2 GB", 2 * GB), ("0.5GiB", GB // 2), ("3T", 3072 * GB), (2.5e3, 2500)],
)
def test_sizes_are_read_as_users_write_them(text, n_bytes):
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("wrong", ["", "G", "-2G", "2X", "1e9", "2G3", "0", 0, -1, float("nan"), 1e30, True, None, []])
def test_a_wrong_size_is_refused_with_an_example(wrong):
    with pytest.raises(ValueError, match=r"is not a size of memory; write it as 500M or 2G\."):
        parse_size(wrong)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (2048, "2 KB"), (3.4 * GB, "3.4 GB"), (1000 * GB, "1 TB"), (1e18, "909,495 TB")],
)
def test_sizes_are_written_briefly(n_bytes, text):
    assert format_size(n_bytes) == text


def test_the_default_is_a_share_of_what_is_available():
    assert 0 < memory_limit() < available_memory()
    assert memory_limit("500M") == 500 * 1024**2


def test_the_error_is_of_memory_and_of_the_arguments():
    assert issubclass(MemoryLimitError, MemoryError)
    assert issubclass(MemoryLimitError, ValueError)


def _write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(content))


def test_a_container_of_version_2_counts_without_its_cache(tmp_path):
    stat = f"anon 1\ninactive_file {GB}\n"
    _write(tmp_path, {"own": "0::/a/b\n", "a/b/memory.max": "max", "a/memory.max": 4 * GB})
    _write(tmp_path, {"a/memory.current": 3 * GB, "a/memory.stat": stat})
    assert list(_control_groups(tmp_path / "own", tmp_path)) == [2 * GB]


def test_a_container_of_version_1_may_see_its_group_as_the_root(tmp_path):
    files = {"own": "9:cpu:/x\n4:memory:/docker/x\n", "memory/memory.limit_in_bytes": 2 * GB}
    _write(tmp_path, files | {"memory/memory.usage_in_bytes": GB})
    assert list(_control_groups(tmp_path / "own", tmp_path)) == [GB]


def test_no_limit_and_no_control_groups(tmp_path):
    _write(tmp_path, {"own": "4:memory:/x\n", "memory/x/memory.limit_in_bytes": 9223372036854771712})
    assert list(_control_groups(tmp_path / "own", tmp_path)) == []
    assert list(_control_groups(tmp_path / "absent", tmp_path)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces a limit of address space")
def test_a_limit_of_address_space_counts():
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)); "
    code += "from saltmine.memory import available_memory; print(available_memory())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 100 << 20 < int(found.stdout) < 300 << 20
