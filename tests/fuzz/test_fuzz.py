"""The files that are tried, how a trial ends, and that nothing goes unnoticed that must not happen."""

import gzip
import os
import signal
import sys
import time
import zipfile
from contextlib import suppress
from random import Random

import numpy as np
import pytest

import saltmine
from fuzz import __main__ as command
from fuzz import worker as fuzz_worker
from fuzz.cases import Case, File, Format
from fuzz.compression import bgzip
from fuzz.formats import FORMATS
from fuzz.regressions import load, save, saved
from fuzz.running import Counts, run, signature, trial
from fuzz.trial import CRASH, EXCEPTION, HANG, MEMORY, READ, REFUSED, UNCLEAR, Outcome, attempt
from fuzz.worker import Trial, Worker
from saltmine.io import ReadError

CSV = Case({"a.csv": b"bread,shop\n1,Mainz\n0,Trier\n"}, "a.csv", {"target": "shop"})
every_format = pytest.mark.parametrize("name", FORMATS)


@pytest.mark.slow
@every_format
def test_changed_files_are_read_or_refused_with_a_sentence(name):
    """A few files of every format; ``make fuzz`` tries many."""
    # Most changes of a model are refused.
    files = 100 if name == "model" else 40
    counts = run([name], seed=1, files=files)[name]
    assert counts.tried == files
    assert not counts.findings
    # Both happen, so the changes are neither too small nor too large.
    assert counts.kinds[READ] > 0
    assert counts.kinds[REFUSED] > 0


@pytest.mark.slow
@every_format
def test_files_are_valid_before_they_are_changed(name, tmp_path):
    form = FORMATS[name]
    ends = [attempt(case, tmp_path / "case", form.is_model) for case in form.valid(0)[::3]]
    read = [outcome for outcome in ends if outcome.kind == READ]
    assert len(read) >= 0.75 * len(ends), ends


@every_format
def test_the_same_seed_and_number_give_the_same_file(name):
    form = FORMATS[name]
    originals = {case.files[case.target] for case in form.pool(0)}
    changed = [form.case(0, number) for number in range(20)]
    # Before version 2, HDF5 writes the second into files; it may end between the two.
    for number in range(20):
        assert any(form.case(0, number) == form.case(0, number) for _ in range(3))
    assert len({tuple(sorted(case.files.items())) for case in changed}) > 15
    if form.wrap is None and name != "folder":
        assert not any(case.files[case.target] in originals for case in changed)


def test_blocks_of_bgzip_hold_all_data():
    data = os.urandom(200_000)
    assert gzip.decompress(bgzip(data)) == data
    assert gzip.decompress(bgzip(data, 1000)) == data


def test_archives_have_right_checksums(tmp_path):
    form, n_intact = FORMATS["npz"], 0
    for number in range(60):
        path = tmp_path / "data.npz"
        path.write_bytes(form.change(Random(number), form.pool(0)[0].files["data.npz"]))
        with suppress(zipfile.BadZipFile, NotImplementedError):
            n_intact += zipfile.ZipFile(path).testzip() is None
    assert n_intact > 40


# ---------------------------------------------------------------------- how a trial ends


def reading(monkeypatch, what):
    """Let `saltmine.read` do something else."""
    monkeypatch.setattr(saltmine, "read", lambda path, **options: what(path))


def ended(tmp_path, case=CSV):
    return attempt(case, tmp_path / "case")


def raising(error):
    def read(path):
        raise error

    return read


def test_a_table_is_read_and_its_files_are_removed(tmp_path):
    assert ended(tmp_path) == Outcome(READ)
    assert not (tmp_path / "case").exists()


def test_a_refusal_is_one_sentence(tmp_path):
    outcome = ended(tmp_path, Case({"a.csv": b""}, "a.csv"))
    assert outcome.kind == REFUSED
    assert not outcome.is_finding
    assert "the file is empty" in outcome.said


def test_other_files_of_a_case_are_written_and_named(tmp_path):
    case = Case({"a.dat": b"1 2\n2\n", "y.txt": b"a\n"}, "a.dat", {"labels": File("y.txt")})
    outcome = ended(tmp_path, case)
    assert outcome.kind == REFUSED
    assert "y.txt" in outcome.said


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("FILE: it is bad; mend it.", REFUSED),
        ("FILE: it is bad", UNCLEAR),
        ("it is bad; mend it.", UNCLEAR),
        ("FILE: it is\nbad; mend it.", UNCLEAR),
        ("FILE: \x1b[31mit is bad; mend it.", UNCLEAR),
        ("FILE: it is bad\ud800; mend it.", UNCLEAR),
        ("FILE: it is " + "very " * 1000 + "bad.", UNCLEAR),
    ],
)
def test_messages_are_checked(tmp_path, monkeypatch, message, kind):
    def read(path):
        raise ReadError(message.replace("FILE", str(path)))

    monkeypatch.setattr(ReadError, "__str__", lambda error: error.args[0])
    reading(monkeypatch, read)
    assert ended(tmp_path).kind == kind


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("it is bad."), SystemExit(3), MemoryError()])
def test_other_errors_are_findings(tmp_path, monkeypatch, error):
    reading(monkeypatch, raising(error))
    outcome = ended(tmp_path)
    assert outcome.kind == EXCEPTION
    assert outcome.is_finding
    assert type(error).__name__ in outcome.said


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (saltmine.Table(np.eye(2), y=np.array([1])), "y has the shape"),
        (saltmine.Table(np.eye(2), item_names=np.array(["a", "a"], dtype=object)), "not distinct"),
        (saltmine.Table(np.eye(2), row_names=np.array(["a", "\ud800"], dtype=object)), "broken code points"),
        (saltmine.Table(np.array([["a"]])), "not numbers"),
        (saltmine.Table(np.eye(2), notes=("left out",)), "a note is not"),
    ],
)
def test_tables_are_checked(tmp_path, monkeypatch, table, problem):
    reading(monkeypatch, lambda path: table)
    outcome = ended(tmp_path)
    assert outcome.kind == UNCLEAR
    assert problem in outcome.said


# ---------------------------------------------------------------------- processes that are watched


def watched(monkeypatch, what, numbers=(0, 1, 2), max_seconds=20.0):
    """Try cases of which number 1 does something bad, and return how all ended."""
    monkeypatch.setattr(
        saltmine, "read", lambda path, **options: what() if "bad" in path.name else saltmine.io.read(path)
    )
    bad = Case({"bad.csv": b""}, "bad.csv")
    worker, found = Worker(max_seconds), {}
    try:
        worker.start(lambda number: Trial(bad if number == 1 else CSV), list(numbers))
        while worker.is_busy:
            found |= dict(worker.poll())
            time.sleep(0.005)
    finally:
        worker.close()
    assert found[0].kind == found[2].kind == READ
    assert not worker.folder.exists()
    return found[1]


def test_a_crash_is_a_finding_and_the_others_go_on(monkeypatch):
    outcome = watched(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGSEGV))
    assert outcome.kind == CRASH
    assert "SIGSEGV" in outcome.said
    assert "test_fuzz.py" in outcome.said


def test_a_silent_end_is_a_finding(monkeypatch):
    outcome = watched(monkeypatch, lambda: os._exit(3))
    assert outcome == Outcome(CRASH, "the process ended with exit code 3\n")


@pytest.mark.slow
def test_a_loop_without_end_is_a_finding(monkeypatch):
    def loop():
        while True:
            time.process_time()

    outcome = watched(monkeypatch, loop, max_seconds=1)
    assert outcome.kind == HANG
    assert "test_fuzz.py" in outcome.said


@pytest.mark.slow
def test_much_memory_is_a_finding(monkeypatch):
    # What is allowed in a trial is 2 GB; here it is a little more than this process has, of which a trial has a part.
    has = fuzz_worker._resident_bytes(os.getpid())
    monkeypatch.setattr(fuzz_worker, "MAX_BYTES", has + (200 << 20))
    outcome = watched(monkeypatch, lambda: np.ones((has >> 3) + (300 << 17)).sum())
    assert outcome.kind == MEMORY


def test_what_cannot_be_made_is_a_mistake_of_the_fuzzer():
    worker = Worker()
    try:
        worker.start(lambda number: 1 // number, [0])
        while not worker.has_news:
            time.sleep(0.01)
        with pytest.raises(RuntimeError, match="Case 0 cannot be made"):
            worker.poll()
    finally:
        worker.close()


# ---------------------------------------------------------------------- the command, findings and regressions


def broken_format():
    """Return a format whose files are never changed, and whose valid files are refused without a name."""
    return Format("broken", lambda random: CSV, lambda random, data: data + b"1,Mainz\n")


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setitem(FORMATS, "broken", broken_format())
    reading(monkeypatch, raising(KeyError("lost")))


@pytest.mark.slow
def test_findings_are_counted_and_few_of_a_kind_are_kept(broken, tmp_path):
    counts = run(["broken"], files=20, keep=tmp_path)["broken"]
    assert counts.tried == counts.n_findings == counts.kinds[EXCEPTION] == 20
    [(where, count)] = counts.findings.items()
    assert count == 20
    assert where.startswith("exception")
    assert "KeyError" in where
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3
    assert "KeyError: 'lost'" in (kept[0] / "finding.txt").read_text()
    assert (kept[0] / "a.csv").exists()


@pytest.mark.slow
def test_the_command_shows_what_it_found(broken, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fuzz", "broken", "csv", "--files", "5", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code is True
    said = capsys.readouterr().out
    assert "broken" in said
    assert "KeyError" in said
    assert (tmp_path / "broken-exception-0-0").is_dir()


def test_the_command_refuses_what_it_does_not_know(monkeypatch, capsys):
    for arguments in (["doc"], ["--case", "doc:1"]):
        monkeypatch.setattr(sys, "argv", ["fuzz", *arguments])
        with pytest.raises(SystemExit):
            command.main()
        assert "there is no format 'doc'; choose from csv, tsv" in capsys.readouterr().err


def test_a_file_is_tried_again_and_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "REGRESSIONS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["fuzz", "--case", "labels:3", "--regression", "odd", "--was", "an error"])
    command.main()
    assert capsys.readouterr().out.count("\n") >= 2
    assert saved(tmp_path) == [tmp_path / "odd"]
    case, form = load(tmp_path / "odd")
    assert form.name == "labels"
    made = FORMATS["labels"].case(0, 3)
    assert (case.files, case.path, case.options) == (made.files, made.path, made.options)
    with pytest.raises(FileExistsError):
        save(made, form, "again", tmp_path / "odd")


def test_causes_are_told_apart():
    one = Outcome(EXCEPTION, 'File "x/src/saltmine/io/a.py", line 3, in f\nValueError: row 17 is bad')
    same = Outcome(EXCEPTION, 'File "x/src/saltmine/io/a.py", line 3, in f\nValueError: row 4 is bad')
    other = Outcome(EXCEPTION, 'File "x/src/saltmine/io/a.py", line 9, in f\nValueError: row 4 is bad')
    assert signature(one) == signature(same) != signature(other)


def test_a_share_of_what_is_read_is_used_and_parsed_apart():
    trials = [trial(FORMATS["dat"], 0, number) for number in range(400)]
    assert 10 < sum(one.thorough for one in trials) < 80
    assert 1 <= sum(one.apart for one in trials) < 30


def test_the_table_has_a_line_for_all():
    counts = {"csv": Counts(), "bcf": Counts()}
    counts["csv"].kinds.update({READ: 1000, REFUSED: 2})
    counts["bcf"].kinds.update({READ: 1, CRASH: 3})
    lines = command.table_of(counts)
    assert lines[0][:4] == ["csv", "1,002", "1,000", "2"]
    assert lines[-1] == ["all", "1,006", "1,001", "2", "3", "0", "0", "0", "0"]
