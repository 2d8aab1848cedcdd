"""Files that are written completely or not at all: errors, kills at every step, several processes at once."""

import errno
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import pytest

from saltmine import atomic
from saltmine.atomic import atomic_files, atomic_write

STEPS = {"os.rename", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.remove", "open", "fcntl.flock"}
OLD, NEW = {"a.txt", "b.txt", "c.txt"}, {"b.txt", "c.txt", "d.txt"}
NAMES = sorted(OLD | NEW)


def write(folder, run, names=NEW):
    with atomic_files(folder, NAMES) as temporary:
        for name in names:
            (temporary / name).write_text(run)


def contents(folder):
    """Return what a reader finds under the names."""
    return {name: (folder / name).read_text() for name in NAMES if (folder / name).exists()}


def plain(folder):
    """Return whether there are plain files only, and nothing hidden."""
    return all(path.is_file() and not path.is_symlink() and path.name[0] != "." for path in folder.iterdir())


def in_child(function, kill_at=None):
    """Run a function in a process of its own, killed before a step if asked for; return whether it was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if kill_at is not None:
                count = 0

                def hook(event, _):
                    nonlocal count
                    count += event in STEPS
                    if event in STEPS and count == kill_at:
                        os.kill(os.getpid(), signal.SIGKILL)

                sys.addaudithook(hook)
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the files of a run."""
    folder = tmp_path / "out"
    folder.mkdir()
    write(folder, "old", OLD)
    return folder


def test_files_appear_together_and_others_stay(folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    before = (folder / "notes.txt").stat()
    write(folder, "new")
    assert contents(folder) == dict.fromkeys(NEW, "new")
    assert (folder / "notes.txt").stat() == before
    assert {path.name for path in folder.iterdir()} == {*NEW, "mine", "notes.txt"}
    assert (folder / "mine" / "notes.txt").read_text() == "mine"


def test_an_error_leaves_everything_as_it_was(folder):
    with pytest.raises(ZeroDivisionError), atomic_files(folder, NAMES) as temporary:
        (temporary / "b.txt").write_text(f"new {1 // 0}")
    assert contents(folder) == dict.fromkeys(OLD, "old")
    assert plain(folder)


def test_an_error_during_the_change_is_undone(folder):
    """A folder in the place of a file cannot be replaced."""
    (folder / "d.txt").mkdir()
    inodes = {name: (folder / name).stat().st_ino for name in OLD}
    with pytest.raises(IsADirectoryError):
        write(folder, "new")
    assert {name: (folder / name).stat().st_ino for name in OLD} == inodes
    assert {path.name for path in folder.iterdir()} == {*OLD, "d.txt"}
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_all_old_or_all_new_files(folder):
    old, new, step, ends = dict.fromkeys(OLD, "old"), dict.fromkeys(NEW, "new"), 0, []
    killed = True
    while killed:
        step += 1
        killed = in_child(lambda: write(folder, "new"), kill_at=step)
        ends.append(contents(folder))
        assert ends[-1] in (old, new)
        write(folder, "old", OLD)
        assert contents(folder) == old
        assert plain(folder)
    assert step > 25
    # Old files up to one step, new ones from there on.
    assert [end == new for end in ends] == sorted(end == new for end in ends)
    assert ends[0] == old


@pytest.mark.slow
def test_kills_of_the_run_that_cleans_up(folder, tmp_path):
    """Kill a run, then the next one at every step of its cleaning and its end."""
    assert in_child(lambda: write(folder, "new"), kill_at=28)
    before, place, step, killed = contents(folder), tmp_path / "copy", 0, True
    assert not plain(folder)
    while killed:
        step += 1
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place, symlinks=True)
        killed = in_child(lambda: write(place, "newest", OLD), kill_at=step)
        assert contents(place) in (before, dict.fromkeys(OLD, "newest"))
    assert contents(place) == dict.fromkeys(OLD, "newest")
    assert plain(place)


@pytest.mark.slow
def test_the_check_of_kills_can_fail(folder, monkeypatch):
    """One rename after the other, as it was once, is caught."""
    monkeypatch.setattr(atomic, "_switch", atomic._rename_each)
    step, killed, mixed = 0, True, 0
    while killed:
        step += 1
        killed = in_child(lambda: write(folder, "new"), kill_at=step)
        mixed += len(set(contents(folder).values())) > 1
        write(folder, "old", OLD)
    assert mixed


@pytest.mark.slow
def test_one_file_survives_kills_at_any_step(tmp_path):
    path, step, killed = tmp_path / "model.salt", 0, True
    path.write_text("old")

    def save(text):
        with atomic_write(path) as temporary:
            assert temporary.name == "model.salt"
            temporary.write_text(text)

    while killed:
        step += 1
        killed = in_child(lambda: save("new"), kill_at=step)
        assert path.read_text() in ("old", "new")
        save("old")
        assert [path.name for path in tmp_path.iterdir()] == ["model.salt"]
    assert step > 8


def test_a_process_that_lives_keeps_its_files(folder):
    """Another run begins, changes the files and ends while one is at work; the last one to end wins."""
    done, ask = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with atomic_files(folder, NAMES) as temporary:
                for name in NEW:
                    (temporary / name).write_text("slow")
                os.write(done[1], b"1")
                os.read(ask[0], 1)
        finally:
            os._exit(0)
    os.read(done[0], 1)
    hidden = [path for path in folder.iterdir() if path.name.startswith(".saltmine-")]
    write(folder, "fast", OLD)
    assert contents(folder) == dict.fromkeys(OLD, "fast")
    assert len(hidden) == 1
    assert hidden[0].is_dir()
    os.write(ask[1], b"1")
    os.waitpid(child, 0)
    assert contents(folder) == dict.fromkeys(NEW, "slow")
    assert plain(folder)


@pytest.mark.slow
def test_many_processes_write_to_the_same_place(folder):
    """Each run is complete when its turn has come; in the end there is one of them."""
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for repeat in range(25):
                    write(folder, f"{number} {repeat}", NEW if repeat % 2 else OLD)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert len(set(contents(folder).values())) == 1
    assert set(contents(folder)) in (OLD, NEW)
    assert plain(folder)


def test_a_reader_during_the_change_sees_no_mixture(folder, monkeypatch):
    """Look before every single step of the change, in the process that makes it."""
    seen = []

    def looking(function):
        def call(*arguments, **keywords):
            seen.append(contents(folder))
            return function(*arguments, **keywords)

        return call

    for name in ("replace", "symlink", "link", "unlink"):
        monkeypatch.setattr(os, name, looking(getattr(os, name)))
    write(folder, "new")
    old, new = dict.fromkeys(OLD, "old"), dict.fromkeys(NEW, "new")
    assert old in seen
    assert new in seen
    assert all(state in (old, new) for state in seen)


def test_folders_may_be_links_and_the_current_one(folder, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(folder)
    write(tmp_path / "link", "through the link")
    assert contents(folder) == dict.fromkeys(NEW, "through the link")
    assert (tmp_path / "link").is_symlink()
    monkeypatch.chdir(folder)
    write(Path(), "here")
    assert contents(folder) == dict.fromkeys(NEW, "here")
    assert os.path.samefile(".", folder)
    assert plain(folder)


def test_a_link_of_the_user_in_place_of_a_file(folder, tmp_path):
    """The link is replaced, its target is not; where the change is undone, the link is there again."""
    (tmp_path / "target.txt").write_text("old")
    (folder / "b.txt").unlink()
    (folder / "b.txt").symlink_to("../target.txt")
    (folder / "d.txt").mkdir()
    with pytest.raises(IsADirectoryError):
        write(folder, "new")
    assert (folder / "b.txt").is_symlink()
    assert (folder / "b.txt").read_text() == "old"
    (folder / "d.txt").rmdir()
    write(folder, "new")
    assert contents(folder) == dict.fromkeys(NEW, "new")
    assert plain(folder)
    assert (tmp_path / "target.txt").read_text() == "old"


def test_without_hard_links_old_files_are_copied(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write(folder, "new")
    assert contents(folder) == dict.fromkeys(NEW, "new")
    assert plain(folder)


def test_without_symbolic_links_files_are_renamed_one_by_one(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "symlink", refuse)
    write(folder, "new")
    assert contents(folder) == dict.fromkeys(NEW, "new")
    assert plain(folder)


def test_without_locks_files_are_written_and_hidden_folders_stay(folder, monkeypatch):
    killed = in_child(lambda: write(folder, "new"), kill_at=12)
    assert killed
    monkeypatch.setattr(atomic, "fcntl", None)
    write(folder, "newest")
    assert contents(folder) == dict.fromkeys(NEW, "newest")
    assert not plain(folder)
    monkeypatch.undo()
    write(folder, "last")
    assert plain(folder)


def test_folders_that_only_look_like_ours_stay(folder):
    (folder / ".saltmine-notes").mkdir()
    (folder / ".other.part").mkdir()
    (folder / ".saltmine-link.part").symlink_to(folder / ".other.part")
    write(folder, "new")
    left = {path.name for path in folder.iterdir()} - NEW
    assert left == {".saltmine-notes", ".other.part", ".saltmine-link.part"}


def test_places_that_cannot_be_written_to(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write(tmp_path / "absent", "new")
    missing = pytest.raises(FileNotFoundError, match=r"There is no folder .* for model.salt; make it first")
    with missing, atomic_write(tmp_path / "absent" / "model.salt"):
        pass
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"), atomic_write(tmp_path):
        pass
    full = pytest.raises(OSError, match="/dev/full cannot be written: No space left on device")
    with full, atomic_write("/dev/full") as path:
        path.write_text("text")


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as temporary, temporary.open("w") as stream:
        stream.writelines(f"half of it {1 // divisor}" for divisor in (1, 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
