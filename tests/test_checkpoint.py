"""The file of a checkpoint: what it holds comes back, and everything else is refused with one sentence."""

from __future__ import annotations

import json
import os
import stat
import threading

import numpy as np
import pytest

from saltmine import checkpoint
from saltmine.checkpoint import Checkpoint, CheckpointError, check_checkpoint, digest, read, remove_checkpoint

STATE = {
    "words": np.arange(5, dtype=np.uint64),
    "flags": np.array([[True, False, True], [False, False, True]]),
    "numbers": np.array([0.1, np.inf, -0.0]),
    "nothing": np.zeros((0, 4), dtype=bool),
    "inner": {"list": [1, None, "text", {"deep": np.int64(3)}], "array": np.zeros((2, 0))},
    "large": 2**100,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.ckpt"


def kept(path, state=STATE, **identity):
    opened = Checkpoint(path, identity or {"data": "a"}, {"seeds": [1, 2]})
    opened.part("search").keep(lambda: state, wait=0)
    return opened


def test_a_state_comes_back_as_it_was(path):
    kept(path)
    state = Checkpoint(path, {"data": "a"}, {}).part("search").state
    for name in ("words", "flags", "numbers", "nothing"):
        assert state[name].dtype == STATE[name].dtype
        np.testing.assert_array_equal(state[name], STATE[name])
    assert np.signbit(state["numbers"][2])
    assert state["inner"]["list"] == [1, None, "text", {"deep": 3}]
    assert state["inner"]["array"].shape == (2, 0)
    assert state["large"] == 2**100
    state["words"][0] = 7  # may be written to


def test_what_a_fit_began_with_is_that_of_its_first_run(path):
    kept(path)
    assert Checkpoint(path, {"data": "a"}, {"seeds": [9]}).facts == {"seeds": [1, 2]}


def test_parts_are_apart(path):
    opened = kept(path)
    opened.part("other").keep(lambda: {"rank": 3}, wait=0)
    again = Checkpoint(path, {"data": "a"}, {})
    assert again.part("other").state == {"rank": 3}
    assert again.part("search").state["large"] == 2**100
    assert again.part("nobody").state is None


def test_parts_may_be_kept_by_several_threads(path):
    opened = Checkpoint(path, {}, {})

    def keep(k):
        for step in range(20):
            state = {"step": step, "array": np.full(1000, k)}
            opened.part(f"restart {k}").keep(lambda state=state: state, wait=0)

    threads = [threading.Thread(target=keep, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = Checkpoint(path, {}, {})
    for k in range(4):
        state = again.part(f"restart {k}").state
        assert state["step"] == 19
        assert (state["array"] == k).all()


def test_states_are_kept_now_and_then(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 1000.0)
    part = Checkpoint(path, {}, {}).part("search")
    part.keep(lambda: pytest.fail("kept too early"))
    part.keep_last(lambda: pytest.fail("a search that took no time is not worth it"))
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    part.keep(lambda: {"step": 1})
    assert Checkpoint(path, {}, {}).part("search").state == {"step": 1}


@pytest.mark.parametrize(
    ("identity", "difference"),
    [
        ({"data": "b", "alpha": 0.01}, "other data"),
        ({"data": "a", "alpha": 0.05}, "alpha 0.01, not 0.05"),
        ({"data": "b", "alpha": 0.05}, "other data, alpha 0.01, not 0.05"),
        ({"data": "a", "alpha": None}, "other alpha"),
        ({"data": "a"}, "other alpha"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(path, identity, difference):
    kept(path, data="a", alpha=0.01)
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as error:
        Checkpoint(path, identity, {})
    expected = f"{str(path)!r} belongs to another fit ({difference}); name another file or delete this one."
    assert str(error.value) == expected
    assert path.read_bytes() == before


def test_every_damaged_byte_is_noticed(path):
    kept(path)
    whole = path.read_bytes()
    magic = len(b"saltmine checkpoint\n")
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match="is no checkpoint" if place < magic else "is damaged") as error:
            read(path)
        assert str(error.value).count(".") <= str(path).count(".") + 1


def test_a_torn_file_is_refused_at_any_length(path):
    kept(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"is no checkpoint of saltmine|is damaged"):
            read(path)


def test_a_process_that_was_killed_while_writing_leaves_the_state_before(path):
    kept(path)
    path.with_name("fit.ckpt.part").write_bytes(path.read_bytes()[:50])
    assert Checkpoint(path, {"data": "a"}, {}).part("search").state["large"] == 2**100
    remove_checkpoint(path)
    assert not list(path.parent.iterdir())


def forged(content, arrays=b""):
    """Return a file with a right digest and this content."""
    import hashlib

    text = json.dumps(content).encode()
    body = b"saltmine checkpoint\n" + len(text).to_bytes(8, "little") + text + arrays
    return body + hashlib.sha256(body).digest()


CONTENT = {"of": {"identity": {"of": {}}, "facts": {"of": {}}, "parts": {"of": {}}}}


def header(content, **more):
    return {"format": 1, "saltmine": checkpoint.__version__, "content": content, **more}


@pytest.mark.parametrize(
    ("content", "arrays"),
    [
        ([], b""),
        ({"saltmine": "1"}, b""),
        (header(3), b""),
        (header({"of": {"identity": 1}}), b""),
        (header(CONTENT), b"too much"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["<u8", [10**15], 8 * 10**15]}}}), b"12345678"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["<u8", [3], 8]}}}), b"12345678"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["|O", [1], 8]}}}), b"12345678"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["|b1", [100], 8]}}}), b"12345678"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["<u8", [-1], 8]}}}), b"12345678"),
        (header({"of": {**CONTENT["of"], "facts": {"array": ["nonsense", [1], 8]}}}), b"12345678"),
    ],
)
def test_content_that_makes_no_sense_is_refused(path, content, arrays):
    path.write_bytes(forged(content, arrays))
    with pytest.raises(CheckpointError, match="is damaged; delete it to begin anew"):
        read(path)


def test_the_checkpoint_of_another_version_is_refused(path):
    path.write_bytes(forged({"format": 1, "saltmine": "0.0.1", "content": {}}))
    with pytest.raises(CheckpointError) as error:
        read(path)
    remedy = "go on with that one, or delete it to begin anew"
    assert (
        str(error.value)
        == f"The checkpoint {str(path)!r} is of saltmine 0.0.1, not {checkpoint.__version__}; {remedy}."
    )


def test_a_file_of_the_user_is_never_replaced(path):
    path.write_text("name,age\n")
    with pytest.raises(CheckpointError, match=r"is no checkpoint of saltmine; name another file\.$"):
        Checkpoint(path, {}, {})
    assert path.read_text() == "name,age\n"


@pytest.mark.parametrize("value", [3, "", 1.5, ["a"], True])
def test_what_is_no_name_is_refused(value):
    with pytest.raises(ValueError, match="checkpoint must be the name of a file or None, not"):
        check_checkpoint(value)


def test_folders_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"is a folder; name a file in it\.$"):
        check_checkpoint(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"There is no folder '.*missing' for the checkpoint fit\.ckpt; make it first\.$"
    ):
        check_checkpoint(tmp_path / "missing" / "fit.ckpt")


def is_root():
    return hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.mark.skipif(is_root(), reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_noticed_at_once(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(CheckpointError, match=r"cannot be written: Permission denied\.$"):
            Checkpoint(folder / "fit.ckpt", {}, {})
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_file_that_cannot_be_made_is_noticed_at_once(tmp_path):
    (tmp_path / "fit.ckpt.part").mkdir()  # also for root
    with pytest.raises(CheckpointError, match=r"The checkpoint '.*fit\.ckpt' cannot be written: Is a directory\.$"):
        Checkpoint(tmp_path / "fit.ckpt", {}, {})


def test_a_disk_that_fills_up_ends_the_checkpoint_and_not_the_fit(path):
    opened = kept(path)
    before = path.read_bytes()
    path.with_name("fit.ckpt.part").mkdir()
    with pytest.warns(UserWarning, match=r"cannot be written \(.*\); the fit goes on without it"):
        opened.part("search").keep(lambda: {"step": 2}, wait=0)
    opened.part("search").keep(lambda: {"step": 3}, wait=0)  # and says so once
    assert path.read_bytes() == before


def test_the_target_of_a_link_is_replaced(tmp_path):
    (tmp_path / "scratch").mkdir()
    link = tmp_path / "fit.ckpt"
    link.symlink_to(tmp_path / "scratch" / "real.ckpt")
    kept(link)
    assert link.is_symlink()
    assert (tmp_path / "scratch" / "real.ckpt").is_file()
    remove_checkpoint(link)
    assert not list((tmp_path / "scratch").iterdir())


def test_the_digest_knows_types_and_shapes():
    same = np.arange(6)
    others = [same.astype(np.int32), same.reshape(2, 3), same[::-1], same[:0]]
    assert len({digest(values) for values in (same, *others)}) == 5
    assert digest(same[::2]) == digest(np.array([0, 2, 4]))
