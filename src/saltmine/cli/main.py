"""The command ``saltmine``: a group of commands, and shell completion."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from saltmine.cli.errors import Failed, OneLineErrors
from saltmine.cli.memory import too_small
from saltmine.names import shorten_message
from saltmine.version import __version__

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}
# In the order in which they are used: the module of each command and its line in the help.
COMMANDS = {
    "fit": ("saltmine.cli.fit", "Find patterns in DATA; write model, tables and report."),
    "transform": ("saltmine.cli.apply", "Print which patterns of MODEL the rows of DATA use."),
    "predict": ("saltmine.cli.apply", "Predict the class of the rows of DATA with MODEL."),
    "report": ("saltmine.cli.apply", "Write the report of MODEL as one HTML page."),
    "compare": ("saltmine.cli.compare", "Fit several methods to DATA and compare what they found."),
    "score": ("saltmine.cli.planted", "Print how well MODEL describes the DATA it was fitted on."),
    "generate": ("saltmine.cli.planted", "Make data with planted patterns, to try things on."),
    "demo": ("saltmine.cli.demo", "Compare handwritten threes and eights."),
    "completion": ("saltmine.cli.main", "Print what SHELL needs to complete saltmine's commands."),
}


class Commands(OneLineErrors):
    """The commands, each imported when it is run, so that ``saltmine --help`` starts at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        if problem := too_small():
            raise Failed(problem)
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions of command names without importing the commands, and of options."""
        names = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, message="saltmine %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def cli(debug: bool) -> None:
    """Find what classes share, what is theirs alone, and how they alter what is shared.

    \b
    Start with:
      saltmine fit data.csv --target class -o out/
    and open out/report.html. 'saltmine demo' shows it on handwritten digits.

    Exit codes: 0 done, 1 failed, 2 wrong use. Results go to standard output, everything else to standard error.
    """
    click.get_current_context().with_resource(warnings.catch_warnings())
    # Columns are matched by name before a model sees them; scikit-learn cannot know.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the place in the program."""
    click.echo(f"Warning: {shorten_message(str(message))}", err=True)


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete saltmine's commands.

    \b
    Examples:
      saltmine completion bash >> ~/.bashrc
      saltmine completion zsh >> ~/.zshrc
      saltmine completion fish > ~/.config/fish/completions/saltmine.fish
    """
    click.echo(SHELLS[shell](cli, {}, "saltmine", "_SALTMINE_COMPLETE").source())
