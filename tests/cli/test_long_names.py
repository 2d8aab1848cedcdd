"""Names of 100 000 characters, and names with control characters, in every kind of message."""

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt, Prepare, ReadError, read
from saltmine.names import printable, quoted, shorten, shorten_message
from tests.helpers.command_line import run

LONG, WORDS, HOSTILE = "x" * 100_000, ("long name " * 10_000).strip(), "\x1b[31mred\x07\nnext\u202e"
ROWS = 40


@pytest.fixture(scope="module", params=[LONG, WORDS, HOSTILE], ids=["long", "words", "hostile"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory, name):
    """Return a folder with tables in which a column, two columns, or the classes have the name."""
    folder = tmp_path_factory.mktemp("data")
    cells = np.random.default_rng(0).random((ROWS, 4)) < 0.4
    labels = np.array(["a", "b"] * (ROWS // 2))

    def write(path, columns, labels):
        table = pd.DataFrame(cells.astype(int), columns=columns)
        table.assign(**{"class": labels}).to_csv(folder / path, index=False)

    write("plain.csv", ["p", "q", "r", "s"], labels)
    write("column.csv", ["p", name, "r", "s"], labels)
    write("twice.csv", ["p", name, name, "s"], labels)
    write("labels.csv", ["p", "q", "r", "s"], np.char.add(name, labels))
    write("one.csv", ["p", "q", "r", "s"], np.full(ROWS, name))
    for table, model in (("labels", "labels"), ("column", "column")):
        result = run("fit", folder / f"{table}.csv", "--target", "class", "-o", folder / model)
        assert result.exit_code == 0, result.stderr
        check(result)
    return folder


def check(result):
    """Check that output is short, and that a terminal would obey nothing in it but line ends."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    for text in (result.stdout, result.stderr):
        assert len(text) < 3000
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text


def split(command, name):
    return [part.replace("NAME", name) for part in command.split()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "fit twice.csv --target class",
        "fit plain.csv --target NAME",
        "fit column.csv --target NAMEz",
        "fit column.csv --target class --ignore NAMEz",
        "fit column.csv --target class --threshold NAMEz=1",
        "fit column.csv --target class --row-names NAMEz",
        "fit column.csv --target class --group NAMEz",
        "fit one.csv --target class",
        "fit plain.csv --labels NAME",
        "fit plain.csv --items NAME",
        "fit plain.csv --encoding NAME",
        "fit plain.csv --separator NAME",
        "fit plain.csv --text NAME",
        "fit plain.csv --text p --language NAME",
        "fit plain.csv --text p --stop-words NAME",
        "fit plain.csv --target class --algorithm paper --device NAME",
        "fit plain.csv --target class -o plain.csv/NAME",
        "fit NAME",
        "fit NAME.csv --target class",
        "fit a=NAME b=NAME",
        "fit NAME=plain.csv NAME=plain.csv",
        "fit plain.csv --method NAME",
        "fit plain.csv --threshold NAME",
        "fit plain.csv --image NAME",
        "fit plain.csv --ranks NAME",
        "fit plain.csv --bins NAME",
        "fit plain.csv --format NAME",
        "fit plain.csv --NAME",
        "--NAME",
        "NAME",
        "compare plain.csv --methods NAME",
        "generate x.npz --rows NAME",
        "generate NAME",
        "generate NAME/x.npz",
        "predict NAME plain.csv",
        "predict column/model.salt plain.csv",
        "predict labels/model.salt NAME",
        "transform labels/model.salt one.csv --target class",
        "score labels/model.salt one.csv --target class",
        "score labels/model.salt plain.csv --truth NAME",
        "report labels/model.salt -o NAME/x.html",
        "completion NAME",
    ],
)
def test_messages_are_short_and_safe(folder, name, command, monkeypatch):
    monkeypatch.chdir(folder)
    result = run(*split(command, name))
    assert result.exit_code == 2, (result.exit_code, result.stderr)
    check(result)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert last.endswith((".", "?"))


@pytest.mark.parametrize("command", ["score labels/model.salt labels.csv --target class", "report labels/model.salt"])
def test_results_are_short_and_safe(folder, name, command, monkeypatch):
    monkeypatch.chdir(folder)
    result = run(*split(command, name))
    assert result.exit_code == 0, result.stderr
    check(result)


@pytest.mark.slow
def test_a_fit_with_findings_about_long_names(tmp_path, name):
    half = np.repeat([True, False], 60)
    cells = np.random.default_rng(1).random((120, 8)) < 0.1
    cells[half, :3] = cells[~half, 4:7] = True
    names = [f"{name}{k}" for k in range(8)]
    table = pd.DataFrame(cells.astype(int), columns=names).assign(**{"class": np.where(half, f"{name}a", f"{name}b")})
    table.to_csv(tmp_path / "table.csv", index=False)
    result = run("fit", tmp_path / "table.csv", "--target", "class", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "Single items" in result.stdout
    assert len(result.stdout) < 20_000
    for sign in ("\x1b", "\x07", "\u202e"):
        assert sign not in result.stdout
    # Files have whole names.
    assert pd.read_csv(tmp_path / "out" / "patterns.csv")["item"].isin(names).all()


def test_errors_in_python_are_short(folder, name):
    table = pd.read_csv(folder / "column.csv")
    items, labels = table.drop(columns="class"), table["class"]
    model = CSalt(random_state=0).fit(items, labels)
    strange = items.astype(object)
    strange.iloc[3, 1] = name
    fitted = Prepare().fit(items)
    for call in (
        lambda: CSalt().fit(strange, labels),
        lambda: CSalt().fit(items * 2, labels),
        lambda: CSalt().fit(items.rename(columns={"p": name}), labels),
        lambda: CSalt(algorithm=name).fit(items, labels),
        lambda: model.transform(items, [name] * ROWS),
        lambda: Prepare(thresholds={f"{name}z": [1]}).fit(items),
        lambda: Prepare(thresholds={name: ["a"]}).fit(items),
        lambda: Prepare().fit(items.assign(**{name: [0.5, np.inf] * (ROWS // 2)})),
        lambda: Prepare().fit(items.assign(**{name: pd.Timestamp("2020")})),
        lambda: fitted.transform(items[["p"]]),
        lambda: fitted.transform(items.assign(**{name: "text"})),
        lambda: read(folder / "column.csv", target=f"{name}z"),
        lambda: read(folder / "twice.csv", target="class"),
    ):
        with pytest.raises(ValueError, match=r"\w") as caught:
            call()
        message = str(caught.value)
        assert len(message) < 1000
        assert printable(message) == message
    assert issubclass(ReadError, ValueError)


def test_shortening_keeps_both_ends_and_what_is_short():
    assert shorten("milk") == "milk"
    assert shorten("a" * 80) == "a" * 80
    assert len(shorten("a" * 81)) == 80
    assert shorten("begin" + LONG + "end").startswith("begin")
    assert shorten("begin" + LONG + "end").endswith("end")
    assert quoted("it's") == '"it\'s"'
    assert quoted(LONG)[0] == quoted(LONG)[-1] == "'"
    assert len(shorten_message(f"There is no column {LONG!r}; the columns are a, b.")) < 200
    assert shorten_message(f"{WORDS} is missing; add it.").endswith("is missing; add it.")
    path = "/home/somebody/" + "folder/" * 25 + "table.csv"
    assert shorten_message(f"There is no file {path}.") == f"There is no file {path}."
    assert printable("日本語\u3000カテゴリ, naïve") == "日本語\u3000カテゴリ, naïve"
