"""Run saltmine's commands in this process."""

from __future__ import annotations

from click.testing import CliRunner

from saltmine.cli.main import cli


def run(*arguments):
    """Run a command and return its result: exit code, standard output and standard error."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def refused(*arguments):
    """Run a command that must end with one line of error and exit code 2; return the line."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    return lines[0]
