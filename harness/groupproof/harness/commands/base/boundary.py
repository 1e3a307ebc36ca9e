"""The boundary between the commands and the process: every error becomes one line on stderr and an exit code that names the blame."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence

import click

from groupproof.harness.commands.base.command_tree import root
from groupproof.harness.model.errors import KitFailure, RunError

__all__ = ["INTERRUPTED", "run"]

WRONG_USAGE = 3
INTERRUPTED = 130
_CLOSED_OUTPUT = 4
_SHOWN_CHARS_MAX = 400


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. It raises nothing but the `SystemExit` of a dying interpreter."""
    try:
        return _code(root.main(list(arguments), prog_name="groupproof", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG_USAGE
    except click.ClickException as error:
        return _wrong_usage(error)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it (`| head`): there is nobody to inform, and Python must not flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED_OUTPUT
    except (Exception, BaseExceptionGroup) as error:
        return _failed(error)


def _code(returned: object) -> int:
    return returned if isinstance(returned, int) else 0


def _say(line: str) -> None:
    click.echo(f"groupproof: {line}", err=True)


def _wrong_usage(error: click.ClickException) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = f" (see {context.command_path} --help)" if context is not None else ""
    _say(f"{error.format_message().rstrip('.')}{where}")
    return WRONG_USAGE


def _failed(error: BaseException) -> int:
    from groupproof.harness.running.error_search import trouble_in

    if any(isinstance(leaf, KeyboardInterrupt) for leaf in _leaves(error)):
        _say("interrupted")
        return INTERRUPTED
    trouble = trouble_in(error)
    _say(_line_of(trouble))
    if isinstance(trouble, KitFailure):
        _say(f"this is a fault of groupproof, not of what you test; please report it with {_keep(error)}")
    return trouble.exit_code


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for exception in error.exceptions for leaf in _leaves(exception)]
    return [error]


def _line_of(error: RunError) -> str:
    """Return the error's line; of another library's error only the beginning, because the file has all of it."""
    line = " ".join(str(error).split())
    return line if len(line) <= _SHOWN_CHARS_MAX or not isinstance(error, KitFailure) else f"{line[:_SHOWN_CHARS_MAX]} …"


def _keep(error: BaseException) -> str:
    """Write the traceback to a file for a bug report, and return its path."""
    number, path = tempfile.mkstemp(prefix="groupproof-failure-", suffix=".txt")
    with os.fdopen(number, "w") as file:
        file.write(f"{sys.version}\n{' '.join(sys.argv)}\n\n")
        traceback.print_exception(error, file=file)
    return path
