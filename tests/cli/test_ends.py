"""How commands end: closed and full streams, full disks, limits of memory, long names; one sentence, nothing lost."""

import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from saltmine import load
from saltmine.cli import memory
from saltmine.cli.results import FILES
from saltmine.datasets import make_planted
from tests.helpers.command_line import run
from tests.helpers.paths import ROOT

PYTHON = [sys.executable, "-m", "saltmine"]
LONG, WORDS, HOSTILE = "x" * 100_000, "long name " * 10_000, "\x1b[31mred\x07\r\nnext\u202e"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with a small table, one of 2000 rows and columns, and results of an earlier run."""
    folder = tmp_path_factory.mktemp("data")
    for name, columns, rows, rank in (("small", 30, 60, 2), ("large", 2000, 1000, 20)):
        planted = make_planted(columns, [rows, rows], rank=rank, noise=0.02, random_state=0)
        table = np.column_stack([planted.X.astype(int), planted.y])
        header = ",".join([*(f"i{k}" for k in range(columns)), "class"])
        np.savetxt(folder / f"{name}.csv", table, fmt="%d", delimiter=",", header=header, comments="")
    assert run("fit", folder / "small.csv", "--target", "class", "-o", folder / "out").exit_code == 0
    return folder


def shell(command, **options):
    """Run a command of the shell, where saltmine is ``$saltmine``; return code and standard error."""
    environment = os.environ | {"saltmine": " ".join(PYTHON)}
    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, **options)


def is_complete(folder):
    return {path.name for path in folder.iterdir()} == set(FILES) and bool(load(folder / "model.salt"))


# ---------------------------------------------------------------------- standard streams


FIT = "$saltmine fit small.csv --target class -o "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        ("-q >/dev/full", 0, "Standard output cannot be written (No space left on device); the results are complete"),
        ("-q --json >/dev/full", 1, "Error: Standard output cannot be written (No space left on device); the results"),
        ("-q --json >&-", 1, "Error: Standard output is closed; the results are complete in"),
        ("<&- >&- 2>&-", 0, ""),
        ("-q | true", 0, ""),
    ],
)
def test_a_fit_whose_output_fails_tells_where_its_results_are(data, tmp_path, redirection, code, message):
    result = shell(f"set -o pipefail; {FIT} {tmp_path}/out {redirection}", cwd=data, executable="/bin/bash")
    assert result.returncode == code, result.stderr
    assert is_complete(tmp_path / "out")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == bool(message)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("predict out/model.salt small.csv >/dev/full", "cannot be written (No space left on device)"),
        ("completion bash >/dev/full", "cannot be written (No space left on device)"),
        ("completion bash >&-", "is closed"),
    ],
)
def test_where_standard_output_is_the_result_a_failure_is_one(data, command, reason):
    result = shell(f"$saltmine {command}", cwd=data)
    assert result.returncode == 1
    assert result.stderr == (
        f"Error: Standard output {reason}, so the result is lost; send it to a file that can be written.\n"
    )


@pytest.mark.slow
def test_errors_keep_their_code_where_they_cannot_be_told(data):
    for command in ("fit absent.csv 2>&-", "explode 2>/dev/full"):
        assert shell(f"$saltmine {command}", cwd=data).returncode == 2


@pytest.mark.slow
def test_files_are_not_opened_in_place_of_closed_streams(data, tmp_path):
    """What is printed must not go to a file that has the number of a closed stream."""
    result = shell(f"$saltmine predict out/model.salt small.csv -o {tmp_path}/classes.csv <&- >&- 2>&-", cwd=data)
    assert result.returncode == 0
    assert (tmp_path / "classes.csv").read_text().startswith("row,class\n")


@pytest.mark.slow
def test_terminals_get_no_control_characters_of_names(tmp_path, monkeypatch):
    rows = [f'"{HOSTILE}{k}",{k % 2},{k % 3 % 2},{"ab"[k % 2]}' for k in range(40)]
    (tmp_path / "names.csv").write_bytes("\n".join(["name,x,y,class", *rows]).encode())
    options = ["names.csv", "--target", "class", "--row-names", "name"]
    monkeypatch.chdir(tmp_path)
    assert run("fit", *options, "-q", "-o", "out").exit_code == 0
    primary, terminal = pty.openpty()
    predict = [*PYTHON, "predict", "out/model.salt", *options, "-q"]
    process = subprocess.Popen(predict, cwd=tmp_path, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(primary, 65536):
            shown += part
    except OSError:
        # Linux tells so that the other side of a terminal is closed.
        pass
    assert process.wait() == 0
    assert b"\\x1b[31mred\\x07" in shown
    assert b"\x1b" not in shown
    # In a file, names are as they are.
    piped = subprocess.run(predict, cwd=tmp_path, capture_output=True, check=True).stdout
    assert HOSTILE.replace("\r\n", "\n").encode() in piped.replace(b"\r\n", b"\n")


# ---------------------------------------------------------------------- disks


@pytest.mark.slow
def test_files_that_would_be_too_large(data, tmp_path):
    shutil.copytree(data / "out", tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    result = shell(f"{FIT} {tmp_path}/out -q", cwd=data, preexec_fn=limit)
    assert result.returncode == 1
    remedy = "raise the limit of file sizes (ulimit -f), or write less"
    assert result.stderr == f"Error: The results cannot be written to {tmp_path}/out: File too large; {remedy}.\n"
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    result = shell(f"$saltmine generate {tmp_path}/x.npz", cwd=data, preexec_fn=limit)
    assert result.returncode == 1
    assert result.stderr == f"Error: {tmp_path}/x.npz cannot be written: File too large; {remedy}.\n"
    assert not (tmp_path / "x.npz").exists()


IN_SMALL_DISK = """
set -e
mkdir {disk}
mount -t tmpfs -o size=2m none {disk}
cp -r out {disk}/out
cat {disk}/out/* | md5sum > {disk}.before
free=$(df --output=avail -k {disk} | tail -1)
dd if=/dev/zero of={disk}/fill bs=1k count=$((free - 60)) 2>/dev/null
for command in "fit small.csv --target class -q -o {disk}/out" "generate {disk}/x.csv" "generate {disk}/x.npz"; do
  {saltmine} $command && echo "no failure" >&2 || echo "exit code $?" >&2
done
mount -o remount,ro {disk}
{saltmine} fit small.csv --target class -q -o {disk}/new && echo "no failure" >&2 || echo "exit code $?" >&2
cat {disk}/out/* | md5sum > {disk}.after
ls -A {disk} {disk}/out
"""


@pytest.mark.slow
def test_full_and_read_only_disks(data, tmp_path):
    """A small file system in memory, for which one has to be root."""
    disk = tmp_path / "disk"
    script = IN_SMALL_DISK.format(disk=disk, saltmine=" ".join(PYTHON))
    can_mount = shell(f"unshare -m mount -t tmpfs -o size=1m none {tmp_path}")
    if can_mount.returncode:
        pytest.skip(f"no file system can be mounted: {can_mount.stderr.strip()}")
    result = subprocess.run(["unshare", "-m", "bash", "-c", script], cwd=data, capture_output=True, text=True)
    full, read_only = "No space left on device; make room on that disk, or", "Read-only file system; name a place that"
    expected = [
        f"Error: The results cannot be written to {disk}/out: {full} name another place.",
        f"Error: The results cannot be written to {disk}: {full} name another place.",
        f"Error: {disk}/x.npz cannot be written: {full} name another place.",
        f"Error: The results cannot be written to {disk}/new: {read_only} can be written to.",
    ]
    assert result.stderr.splitlines() == [line for error in expected for line in (error, "exit code 1")]
    assert (tmp_path / "disk.before").read_text() == (tmp_path / "disk.after").read_text()
    assert set(result.stdout.split()) == {f"{disk}:", f"{disk}/out:", "fill", "out", *FILES}


def test_a_folder_in_the_place_of_a_file_is_refused_before_the_work(data, tmp_path):
    (tmp_path / "patterns.csv").mkdir()
    result = run("fit", data / "small.csv", "--target", "class", "-o", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {tmp_path}/patterns.csv is a folder, but a file of that name is to be written; rename it.\n"
    )


# ---------------------------------------------------------------------- memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "megabytes"),
    [("small", 100), ("large", 700), ("small", 1536)],
)
def test_limits_of_the_address_space(data, tmp_path, table, megabytes):
    """A fit succeeds, or tells in one sentence that there is too little memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    command = [*PYTHON, "fit", str(data / f"{table}.csv"), "--target", "class", "-q", "-o", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=300)
    if result.returncode == 0:
        assert result.stderr == ""
        assert is_complete(tmp_path / "out")
        return
    assert megabytes < 1000
    assert result.returncode == 1
    assert not (tmp_path / "out").exists()
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    told = f"may use {megabytes} MB; raise the", f"within the limit of {megabytes} MB of address space; raise the"
    assert any(text in lines[0] for text in told)
    assert "(ulimit -v)" in lines[0]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (ImportError("libopenblas.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("No module named 'matplotlib'"), False),
        (ValueError("there is no column 'cannot allocate memory'"), False),
        (OSError("libgomp.so: cannot allocate memory in static TLS block"), True),
        (OSError(28, "No space left on device"), False),
        (BlockingIOError(11, "Resource temporarily unavailable"), False),
    ],
)
def test_errors_that_tell_of_too_little_memory(error, answer):
    assert memory.is_memory_problem(error) is answer
    outer = ValueError("something else")
    outer.__cause__ = error
    assert memory.is_memory_problem(outer) is answer


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [
        ("return 7", 7, ""),
        ("os.write(errors, b'said\\n'); return 2", 2, "said\n"),
        ("os.write(2, b'of a library\\n'); os._exit(1)", 1, "Error: There is not enough memory; use fewer"),
        ("os.abort()", 1, "Error: There is not enough memory; use fewer columns or rows, or a machine with more.\n"),
        ("os.kill(os.getpid(), 9)", 1, "Error: The process was killed; nothing was written.\n"),
        ("raise MemoryError", 1, "Error: There is not enough memory; use fewer columns or rows"),
    ],
)
def test_ends_of_a_process_that_is_supervised(end, code, message):
    program = f"import os, sys\nfrom saltmine.cli.memory import supervised\ndef run(errors):\n    {end}\n"
    result = subprocess.run(
        [sys.executable, "-c", f"{program}sys.exit(supervised(run))"], capture_output=True, text=True
    )
    assert result.returncode == code
    assert result.stderr.startswith(message)
    assert len(result.stderr.splitlines()) == bool(message)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
def test_an_interrupt_within_a_limit(data, tmp_path):
    """The process that was started hands requests to end to the one that works."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))

    options = ["--target", "class", "--restarts", "50", "-o", str(tmp_path / "out")]
    command = [*PYTHON, "fit", str(data / "large.csv"), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=limit)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stdout == ""
    assert stderr.splitlines()[-1] == "Error: Interrupted; nothing was written."
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------- several runs, and kills


@pytest.mark.slow
def test_two_runs_at_the_same_time_into_the_same_folder(data, tmp_path):
    command = f"{FIT} {tmp_path}/out -q"
    result = shell(f"{command} --seed 1 & {command} --seed 2; first=$?; wait $! && exit $first", cwd=data)
    assert result.returncode == 0, result.stderr
    assert is_complete(tmp_path / "out")
    assert not any(path.is_symlink() for path in (tmp_path / "out").iterdir())


@pytest.mark.slow
def test_killed_fits_leave_old_or_new_results():
    """A few of the kills of ``python -m fuzz.kills``."""
    command = [sys.executable, "-m", "fuzz.kills", "--kills", "2", "--seed", "5000"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "mixed or lost: 0\nnot mended by the next run: 0\n" in result.stdout
