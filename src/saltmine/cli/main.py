"""The command ``saltmine`` and its smaller commands."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from saltmine.cli.apply import load_model, predict, transform
from saltmine.cli.compare import compare
from saltmine.cli.errors import Commands, Failed, user_mistakes
from saltmine.cli.fit import fit
from saltmine.cli.planted import generate, score

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(package_name="saltmine", message="saltmine %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def cli(debug: bool) -> None:
    """Find what classes share, what is theirs alone, and how they alter what is shared.

    \b
    Start with:
      saltmine fit data.csv --target class -o out/
    and open out/report.html. 'saltmine demo' shows it on handwritten digits.

    Exit codes: 0 done, 1 failed, 2 wrong use. Results go to standard output, everything else to standard error.
    """
    # Columns are matched by name before a model sees them; scikit-learn cannot know.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True, help="The page."
)
@click.option("--title", help="Its title.")
def report(model: Path, output: Path, title: str | None) -> None:
    """Write the report of MODEL as one HTML page.

    \b
    Examples:
      saltmine report out/model.salt
      saltmine report out/model.salt -o talk.html --title "Baskets of two shops"
    """
    from saltmine.report import write_report

    fitted = load_model(model)
    with user_mistakes():
        write_report(fitted, output, title)
    click.echo(str(output))


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("out/demo"), show_default=True, help="Folder."
)
def demo(output: Path) -> None:
    """Compare handwritten threes and eights; write a picture and a report.

    \b
    Example:
      saltmine demo -o out/demo
    """
    from saltmine.cli.demo import run

    with user_mistakes():
        run(output)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete saltmine's commands.

    \b
    Examples:
      saltmine completion bash >> ~/.bashrc
      saltmine completion zsh >> ~/.zshrc
      saltmine completion fish > ~/.config/fish/completions/saltmine.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise Failed(f"This version of click knows no completion for {shell}.")
    click.echo(found(cli, {}, "saltmine", "_SALTMINE_COMPLETE").source())


for command in (fit, transform, predict, report, compare, score, generate, demo, completion):
    cli.add_command(command)
