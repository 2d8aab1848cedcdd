"""Parsers in a process of their own: what they send is checked, and however they end, it is one sentence here."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import saltmine
from saltmine.io import ReadError, parser_process, read
from saltmine.io.limits import reading_within
from saltmine.io.parser_process import _header, _Receiver, parse_apart
from saltmine.parsers.messages import (
    MAX_HEADER,
    Facts,
    Numbers,
    ParseError,
    Texts,
    numbers,
    problem_header,
    send,
    send_header,
    texts,
)
from tests.helpers.paths import shared_path
from tests.helpers.reading import refusal_of_file
from tests.io.test_bio import record, vcf, write_h5ad, write_vcf

posix_only = pytest.mark.skipif(os.name != "posix", reason="signals and named pipes are those of POSIX")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems end an orphan by its closed pipe")


@pytest.fixture
def blocked(tmp_path):
    """Return a file of whose matrix the parser cannot send all before somebody takes it from the pipe."""
    h5py = pytest.importorskip("h5py")
    path = write_h5ad(tmp_path / "cells.h5ad", X=None)
    with h5py.File(path, "a") as file:
        # In chunks: what a file has as one piece is not sent.
        file.create_dataset("X", data=np.ones((4, 2_000_000), dtype=np.float32), chunks=(1, 2_000_000))
    return path


@pytest.fixture
def started(monkeypatch):
    """Return the processes that are started, in a list that grows."""
    processes = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return processes


def is_running(pid):
    try:
        # An orphan that nobody has waited for is still listed.
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_until(condition):
    """Wait for something that must come true, however slow the machine is."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------------------ how parsers end


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "complaint"),
    [
        ("SIGKILL", "the parser of this AnnData file was ended by another process, or by the system"),
        ("SIGTERM", "the parser of this AnnData file was ended by another process, or by the system"),
        ("SIGSEGV", "the parser of this AnnData file crashed (signal SIGSEGV); the file is damaged"),
        ("SIGXCPU", "was ended after 5 seconds of computing without progress; the file is damaged"),
    ],
)
def test_a_parser_that_is_ended_is_one_sentence(blocked, started, number, complaint):
    with parse_apart("h5ad", "AnnData file", blocked, {"columns": {}}) as parsed:
        started[0].send_signal(getattr(signal, number))
        with pytest.raises(ReadError) as refused:
            list(parsed)
    assert complaint in str(refused.value)
    assert [process.returncode for process in started] == [-getattr(signal, number)]


_READ_BLOCKED = """
import subprocess, sys, time
from pathlib import Path
class Told(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        parsers.append(self)
parsers, subprocess.Popen = [], Told
from saltmine.io.parser_process import parse_apart
with parse_apart("h5ad", "AnnData file", Path(sys.argv[1]), {"columns": {}}) as parsed:
    next(iter(parsed))
    print(parsers[0].pid, flush=True)
    time.sleep(600)
"""


def start_reading(path):
    """Start a process that has begun to read a file; return it and the number of its parser."""
    command = [sys.executable, "-c", _READ_BLOCKED, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


@linux_only
@pytest.mark.slow
def test_ctrl_c_ends_the_parser_too(blocked, interruptible):
    process, parser = start_reading(blocked)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in complaint
    assert not is_running(parser)


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parser_ends_with_its_parent(blocked, number):
    process, parser = start_reading(blocked)
    assert is_running(parser)
    process.send_signal(number)
    process.communicate(timeout=120)
    wait_until(lambda: not is_running(parser))


@posix_only
@pytest.mark.slow
def test_the_guard_ends_a_loop_and_spares_slow_progress():
    loop = "from saltmine.parsers.guard import Guard\nimport time\nguard = Guard(1, None)\n"
    ended = subprocess.run([sys.executable, "-c", loop + "while True: pass"], timeout=120)
    assert ended.returncode == -signal.SIGXCPU
    progress = "end = time.process_time() + 1.5\nwhile time.process_time() < end: guard.renew()"
    assert subprocess.run([sys.executable, "-c", loop + progress], timeout=120).returncode == 0


@pytest.mark.slow
@linux_only
def test_the_guard_limits_memory():
    code = "from saltmine.parsers.guard import Guard\nguard = Guard(9, 300 << 20)\nguard.limit_memory()\n"
    code += "small = bytearray(100 << 20)\nguard.renew()\n"
    code += "try:\n    bytearray(400 << 20)\nexcept MemoryError:\n    print('refused')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    code = (
        "from saltmine.parsers.guard import Guard\nguard = Guard(9, 20 << 20)\nlarge = b'x' * (50 << 20)\nguard.renew()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MemoryError" in done.stderr


# -------------------------------------------------------------------------------------------------- damaged and hostile


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("segv.bcf", "VCF or BCF file crashed (signal"),
        ("segv.vcf", "VCF or BCF file crashed (signal"),
        ("exit.bcf", "VCF or BCF file crashed (exit code"),
        ("hang.h5ad", "5 seconds of computing without progress"),
        ("lazy3.h5ad", "X is 20000 x 40000, but obs has 2 rows and var 2"),
        ("surrogate.npz", "value 8 of the array 'y' has a broken character"),
        ("m.vcf", "record 1 below the header cannot be read"),
    ],
)
def test_hostile_files_are_refused(name, complaint):
    assert complaint in refusal_of_file(shared_path(f"hostile/{name}"))


def _whole(path):
    """Write a small file of every format that has a parser of its own."""
    rng = np.random.default_rng(0)
    if path.suffix == ".h5ad":
        return write_h5ad(path, sp.csr_array(rng.poisson(0.5, (4, 3)).astype(np.float32)))
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame({"bread": rng.integers(0, 2, 50), "shop": ["Mainz", "Trier"] * 25}).to_parquet(path)
        return path
    return write_vcf(path, vcf(*(record("0/1", "1|1", position=k) for k in range(10, 60))))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calls.vcf", "calls.bcf", "cells.h5ad", "baskets.parquet"])
def test_whatever_is_damaged_ends_in_a_table_or_a_sentence(tmp_path, name, monkeypatch):
    monkeypatch.setattr(parser_process, "SECONDS_WITHOUT_PROGRESS", 1.0)
    whole = _whole(tmp_path / name).read_bytes()
    path = tmp_path / f"damaged{Path(name).suffix}"
    rng = np.random.default_rng(1)
    refused = []
    # A few of what ``make fuzz`` reads.
    for _ in range(12):
        data = bytearray(whole)
        if path.suffix == ".bcf":
            # Under the checksum of the compression, which would tell.
            data = bytearray(gzip.decompress(whole))
        for place in rng.integers(0, len(data), rng.integers(1, 8)):
            data[place] = rng.choice([0, 1, 127, 255, data[place] ^ 1 << rng.integers(8)])
        path.write_bytes(gzip.compress(data) if path.suffix == ".bcf" else data)
        try:
            read(path)
        except ReadError as error:
            refused.append(str(error))
    assert refused
    assert all(said.startswith(f"{path}") and "\n" not in said for said in refused)


@pytest.mark.slow
def test_what_is_in_another_file_is_not_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    other = write_h5ad(tmp_path / "other.h5ad")
    path = write_h5ad(tmp_path / "cells.h5ad", X=None)
    with h5py.File(path, "a") as file:
        file["X"] = h5py.ExternalLink(str(other), "X")
    assert "X is in another file, which is not read" in refusal_of_file(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        (tmp_path / "raw").write_bytes(bytes(48))
        file.create_dataset("X", (4, 3), np.float32, external=[(str(tmp_path / "raw"), 0, 48)])
    assert "X is in another file, which is not read" in refusal_of_file(path)


# ------------------------------------------------------------------------------------------------------------- starting


@pytest.mark.slow
def test_another_interpreter_of_the_same_python_is_found(tmp_path, monkeypatch, started):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    for odd in ("", str(tmp_path / "no_such_python"), "/usr/bin/some-program"):
        monkeypatch.setattr(sys, "executable", odd)
        assert read(path).notes == ()
    assert len(started) == 3


@posix_only
def test_without_an_interpreter_the_file_is_read_here_and_a_note_says_so(tmp_path, monkeypatch):
    odd = tmp_path / "python"
    odd.write_text("#!/bin/sh\necho something else\n")
    odd.chmod(0o755)
    monkeypatch.setattr(parser_process, "_interpreters", lambda: iter([str(odd), str(tmp_path / "absent")]))
    table = read(write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0"))))
    assert table.X.toarray().tolist() == [[1], [0]]
    assert "read within this process, as no Python interpreter could be started" in table.notes[-1]
    table = read(write_h5ad(tmp_path / "cells.h5ad"), target="tissue")
    assert (table.shape, len(table.notes)) == ((4, 3), 1)
    assert "cannot be read" in refusal_of_file(write_vcf(tmp_path / "bad.vcf", vcf(record("0/1", "x"))))
    assert "not HDF5" in refusal_of_file(write_vcf(tmp_path / "a.vcf", vcf()), format="h5ad")


def test_a_program_that_starts_itself_again_does_not_do_so_for_ever(tmp_path, monkeypatch, started):
    monkeypatch.setenv("SALTMINE_PARSER", "1")
    table = read(write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0"))))
    assert (len(table.notes), started) == (1, [])


@pytest.mark.slow
def test_a_large_process_starts_parsers_too(tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    large = np.ones(400 << 20, dtype=np.uint8)
    assert read(path, max_memory="200M").notes == ()
    assert large.all()


def test_nothing_of_the_current_folder_is_imported(tmp_path, monkeypatch):
    for name in ("numpy.py", "cyvcf2.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit(7)")
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert read(path).notes == ()


@pytest.mark.slow
def test_a_file_is_read_without_a_main_module_and_by_many_threads(tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    code = "import saltmine, sys; from concurrent.futures import ThreadPoolExecutor as Threads; "
    code += "print(list(Threads(3).map(lambda k: saltmine.read(sys.argv[1]).shape, range(3))))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "[(2, 1), (2, 1), (2, 1)]\n"


@pytest.mark.cluster
def test_workers_of_a_cluster_read_too(client, tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    assert client.submit(lambda path: saltmine.read(path).notes, str(path)).result() == ()


# ------------------------------------------------------------------------------------------------ what parsers may send


def sent(*messages):
    stream = io.BytesIO()
    for message in messages:
        for _ in send(stream, message):
            pass
    stream.seek(0)
    return stream


def received(stream, path=Path(__file__)):
    return _Receiver(stream, path, None).message(_header(stream))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, ">f8", ">i2"])
def test_numbers_come_back(dtype):
    values = np.arange(12).reshape(4, 3).astype(dtype)
    name, found = received(sent(Numbers("X", values.dtype, values.shape, (values[:1], values[1:]))))
    assert name == "X"
    np.testing.assert_array_equal(found, values)
    assert received(sent(numbers("none", np.empty((0, 3)))))[1].shape == (0, 3)


def test_numbers_that_are_in_the_file_are_read_there(tmp_path):
    values = np.arange(12, dtype=np.int16).reshape(4, 3)
    path = tmp_path / "data"
    path.write_bytes(b"before" + values.tobytes() + b"after")
    message = Numbers("X", values.dtype, values.shape, (), offset=6)
    np.testing.assert_array_equal(received(sent(message), path)[1], values)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ReadError, match="sent something that is not data"):
        received(sent(message), path)


def test_texts_come_back():
    values = ["a", "", "chr1:10 A>G", "gesünder", "\U0001f600", "two\nlines", "\0"]
    assert received(sent(Texts("names", 7, (values[:3], [], values[3:])))) == ("names", values)
    assert received(sent(texts("none", []))) == ("none", [])
    assert received(sent(Facts("form", {"shape": [1, 2]}))) == ("form", {"shape": [1, 2]})


def with_header(header, payload=b""):
    stream = io.BytesIO()
    send_header(stream, header)
    stream.write(payload)
    stream.seek(0)
    return stream


@pytest.mark.parametrize(
    "header",
    [
        {"numbers": "X", "dtype": "|O", "shape": [1]},
        {"numbers": "X", "dtype": "<U3", "shape": [1]},
        {"numbers": "X", "dtype": [["a", "|O"]], "shape": [1]},
        {"numbers": "X", "dtype": "<i4", "shape": [-1]},
        {"numbers": "X", "dtype": "<i4", "shape": [1.5]},
        {"numbers": "X", "dtype": "<i4", "shape": [True]},
        {"numbers": "X", "dtype": "<i4", "shape": "1"},
        {"numbers": "X", "dtype": "<i4", "shape": [1], "offset": -1},
        {"numbers": "X", "dtype": "<i4", "shape": [1], "offset": "begin"},
        {"numbers": "X", "dtype": "<i4", "shape": [1], "offset": 1 << 40},
        {"numbers": 7},
        {"texts": "names", "count": -1},
        {"texts": "names", "count": "many"},
        {"facts": "form", "values": []},
        {"something": "else"},
        {},
    ],
)
def test_what_is_not_data_is_refused(header):
    with pytest.raises(ReadError, match="sent something that is not data"):
        received(with_header(header, bytes(100)))


@pytest.mark.parametrize("header", [b"[]", b"7", b"{", b"\xff", b"[" * 50000])
def test_a_header_that_is_not_json_is_refused(header):
    with pytest.raises(ReadError, match="sent something that is not data"):
        _header(io.BytesIO(len(header).to_bytes(4, "little") + header))


def test_a_header_that_is_too_long_is_neither_read_nor_sent():
    with pytest.raises(ReadError, match="not data"):
        _header(io.BytesIO((MAX_HEADER + 1).to_bytes(4, "little")))
    with pytest.raises(ParseError, match="names that are too long"):
        send_header(io.BytesIO(), {"name": "x" * MAX_HEADER})


def test_texts_whose_lengths_do_not_add_up_are_refused():
    good = sent(texts("names", ["ab", "c"])).getvalue()
    for wrong in (good.replace(b"\2\0\0\0\1\0\0\0", b"\2\0\0\0\2\0\0\0"), good.replace(b'"count": 2', b'"count": 1')):
        with pytest.raises(ReadError, match="not data"):
            received(io.BytesIO(wrong))


@pytest.mark.parametrize(
    "header", [{"numbers": "X", "dtype": "<f8", "shape": [10**9, 10**6]}, {"texts": "names", "count": 10**15}]
)
def test_sizes_are_checked_before_anything_is_allocated(header):
    with reading_within("1G"), pytest.raises(ReadError, match=r"the data takes about .* only 1 GB may be used"):
        received(with_header(header))


def test_truth_values_other_than_0_and_1_are_mended():
    stream = with_header({"numbers": "X", "dtype": "|b1", "shape": [3]}, bytes([0, 2, 1]))
    assert received(stream)[1].view(np.uint8).tolist() == [0, 1, 1]


def test_problems_have_one_line_of_limited_length():
    header = problem_header("invalid", "two\nlines " + "x" * 10**6)
    assert header["text"].startswith("two lines x")
    assert len(json.dumps(header)) < 10**4
