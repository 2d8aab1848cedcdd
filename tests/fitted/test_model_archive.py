"""Archives that lie, bombs, and what is read of them."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from fuzz.random_models import sized_arrays
from fuzz.real_models import Evil, pack
from saltmine import CSalt, load
from saltmine.fitted import model_archive
from saltmine.fitted.model_archive import BadArchive, ModelArchive, check_memory
from saltmine.fitted.model_file import ModelFileError
from tests.helpers.model_files import rewrite, taken_apart
from tests.helpers.models import two_blocks


@pytest.fixture(scope="module")
def model():
    return CSalt(random_state=0).fit(two_blocks(), ["a", "b"] * 20)


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.salt")
    return tmp_path / "model.salt"


def refusal(path):
    with pytest.raises(ModelFileError) as error:
        load(path)
    return str(error.value)


def add_part(path, name, content):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, content)


def in_directory(path, offset, value):
    """Change a field of the first entry of the directory."""
    content = bytearray(path.read_bytes())
    begin = content.index(b"PK\x01\x02") + offset
    content[begin : begin + len(value)] = value
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["evil.npy", "../../evil.npy", "/tmp/evil.npy"])
def test_unknown_parts_are_refused(path, name):
    add_part(path, name, b"anything")
    assert f"a model of this kind has no part '{name.removesuffix('.npy')}'" in refusal(path)


@pytest.mark.parametrize("name", ["evil", "code.py"])
def test_parts_that_are_no_arrays_are_refused(path, name):
    add_part(path, name, b"anything")
    assert f"'{name}' is encrypted, or of another kind than the parts of model files" in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_doubled_parts_are_refused(path):
    add_part(path, "usage_.npy", b"anything")
    assert "it has the part 'usage_' twice" in refusal(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(path, method):
    header, arrays = taken_apart(path)
    path.write_bytes(pack(header, arrays, method))
    assert "is encrypted, or of another kind than the parts of model files" in refusal(path)


@pytest.mark.parametrize("flag", [0x1, 0x20, 0x40])
def test_encrypted_and_patched_parts_are_refused(path, flag):
    in_directory(path, 8, struct.pack("<H", flag))
    assert "is encrypted, or of another kind" in refusal(path)


@pytest.mark.slow
def test_a_directory_without_end_is_refused_before_it_is_read(path):
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")
    tracemalloc.start()
    assert "its directory is too long" in refusal(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 10, 0x7FFFFFFF])
def test_sizes_that_lie_are_refused(path, size):
    in_directory(path, 24, struct.pack("<I", size))
    assert "is damaged or not a saltmine model" in refusal(path)


@pytest.mark.slow
def test_a_part_that_unpacks_to_more_than_it_says_is_read_no_further(path):
    # The directory and the array agree on a size; the content is much longer.
    header, arrays = taken_apart(path)
    stream = io.BytesIO()
    np.save(stream, arrays["history_"])
    arrays["history_"] = stream.getvalue() + bytes(50 << 20)
    path.write_bytes(pack(header, arrays))
    content = bytearray(path.read_bytes())
    at = content.index(b"history_.npy", content.index(b"PK\x01\x02")) - 46
    content[at + 24 : at + 28] = struct.pack("<I", len(stream.getvalue()))
    path.write_bytes(content)
    tracemalloc.start()
    assert "its archive cannot be read" in refusal(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x02\x00\x80\x00\x00\x00" + b" " * 200,
        b"\x93NUMPY\x01\x00\xff\xff" + b" " * 70_000,
        b"\x93NUMPY\x01\x00\x0a\x00{'descr': '",
        b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
    ],
    ids=["nothing", "too short", "version 2", "long", "cut", "brackets"],
)
def test_parts_that_are_no_plain_arrays_are_refused(path, content):
    header, arrays = taken_apart(path)
    path.write_bytes(pack(header, arrays | {"usage_": content}))
    assert "is damaged or not a saltmine model (" in refusal(path)


@pytest.mark.parametrize("shape", [b"(-1,)", b"(1e3,)", b"([],)", b"(10**9,)", b"(1, 2, 3, 4)", b"(%s,)" % (b"9" * 30)])
def test_odd_shapes_are_refused(path, shape):
    header, arrays = taken_apart(path)
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n" % shape
    arrays["usage_"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
    path.write_bytes(pack(header, arrays))
    assert "usage_ is not a plain array of numbers" in refusal(path)


def test_objects_are_never_unpickled(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rewrite(path, history_=np.array([Evil()], dtype=object))
    assert "history_ is not a plain array of numbers" in refusal(path)
    assert not (tmp_path / "executed").exists()


# ---------------------------------------------------------------------- bombs


def bomb(path, **sizes):
    """Write a model whose parts fit together, of other sizes; all values that can be zero are."""
    header = taken_apart(path)[0]
    names = {"m": "rows", "r": "n_components_", "d": "items", "n": "n_features_in_"}
    of = {"m": 40, "r": 2, "c": 2, "d": 2, "n": 8} | sizes
    header |= {names[k]: v for k, v in of.items() if k in names} | {"near_miss": None}
    if "c" in sizes:
        header["classes"]["labels"] = [f"{a:06}" for a in range(sizes["c"])]
    if sizes.pop("label", False):
        header["classes"]["labels"][0] = "a" * 9000
    path.write_bytes(pack(header, sized_arrays(of["m"], of["r"], of["c"], of["d"], of["n"], full=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        {"m": 10_000_000},
        {"n": 5_000_000},
        {"n": 300_000, "r": 300},
        {"d": 300_000, "n": 300_000, "r": 50},
        {"r": 30_000, "d": 2},
        {"c": 10_000, "m": 10_000},
        {"m": 400_000, "label": True},
    ],
    ids=["rows", "columns", "tables", "items", "patterns", "classes", "labels"],
)
def test_small_files_that_would_take_much_memory_are_refused_with_little(path, sizes):
    bomb(path, **sizes)
    size = path.stat().st_size
    assert size < 1 << 20
    tracemalloc.start()
    message = refusal(path)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "is refused: it would take" in message
    assert "MB of memory, more than a file of" in message
    assert message.endswith("accounts for; ask for a file that model.save wrote.")
    assert used < 150 << 20


FILLERS = {"text": b" " * (100 << 20), "lists": b'"a": [' + b"[]," * (5 << 20) + b"[]], "}


@pytest.mark.slow
@pytest.mark.parametrize("filler", FILLERS.values(), ids=FILLERS)
def test_headers_that_would_take_much_memory_are_refused(path, filler):
    path.write_bytes(pack(b"{" + filler + b'"format": 1}', taken_apart(path)[1]))
    assert "is refused: it would take" in refusal(path)


def test_the_memory_of_the_machine_is_a_limit(monkeypatch, path):
    monkeypatch.setattr(model_archive, "_memory", lambda: 10_000)
    message = refusal(path)
    assert "more than 50% of the 0 MB of this machine; load it on a larger one." in message
    monkeypatch.setattr(model_archive, "_memory", lambda: None)
    load(path)
    check_memory(10**15)


def test_a_model_is_read_from_the_archive_part_by_part(path):
    with path.open("rb") as stream:
        archive = ModelArchive(stream)
        assert "usage_" in archive.names
        declared = archive.declared("usage_")
        np.testing.assert_array_equal(archive.read("usage_"), taken_apart(path)[1]["usage_"])
        assert declared.n_bytes == archive.read("usage_").nbytes
    with pytest.raises(BadArchive, match="its archive cannot be read"):
        ModelArchive(io.BytesIO(b"PK"))
