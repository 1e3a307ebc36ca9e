"""`groupproof trace explain FILE…`: explains why each rebalance began, how long its phases took, who delayed it, and which setting to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groupproof.harness.commands.trace_import import PORT_OPTION

if TYPE_CHECKING:
    from groupproof.harness.judging.diagnosis.rebalances import Rebalance
    from groupproof.protocol.trace import Trace

__all__ = ["command"]


@click.command("explain")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Explain only this group; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else there.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for explanation.json and a picture of each group.")
@PORT_OPTION
def command(files: tuple[Path, ...], groups: tuple[str, ...], output: Path | None, ports: tuple[int, ...], *, as_json: bool) -> int:
    """Say why each rebalance in FILEs began, and what to do about it.

    FILEs are traces of this kit (or folders of them), or whatever `groupproof trace import` reads: brokers' logs, clients' logs, captures. Several logs of one cluster belong
    together: give them at once.
    """
    from groupproof.harness.judging.diagnosis.epoch_history import epoch_histories
    from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
    from groupproof.harness.judging.diagnosis.zookeeper_group import tell_waves, waves_of
    from groupproof.harness.reports.texts.epoch_text import epochs_to_json, tell_epochs
    from groupproof.harness.reports.texts.rebalance_text import epoch_ms_of, explanation_to_json
    from groupproof.harness.running.importing.import_files import read_any

    documents = []
    for trace in read_any(files, ports=ports):
        found = [rebalance for rebalance in rebalances_of(trace) if not groups or rebalance.group in groups]
        waves = [wave for wave in waves_of(trace) if not groups or wave.group in groups]
        histories = [history for history in epoch_histories(trace) if not groups or history.group in groups]
        more = epochs_to_json(histories) | ({"watched": msgspec.to_builtins(waves)} if waves else {})
        documents.append(explanation_to_json(found, epoch_ms_of(trace)) | more)
        if not as_json and waves:
            click.echo("\n".join(tell_waves(waves)))
        if not as_json and (found or not waves):
            _show(found, trace, list(tell_epochs(histories, epoch_ms_of(trace))))
        if output is not None:
            _draw(found, trace, output)
    whole = documents[0] if len(documents) == 1 else documents
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    if as_json:
        click.echo(text)
    if output is not None:
        from groupproof.harness.reports.output_folder import check_folder, write_text

        with check_folder(output):
            write_text(output / "explanation.json", text + "\n")
    return 0


def _show(found: list[Rebalance], trace: Trace, epochs: list[str]) -> None:
    from groupproof.harness.reports.texts.rebalance_text import epoch_ms_of, tell, tell_summary

    for rebalance in found:
        click.echo("\n".join(tell(rebalance, epoch_ms_of(trace))) + "\n")
    if epochs:
        click.echo("\n".join(epochs) + "\n")
    click.echo("\n".join(tell_summary(found)))


def _draw(found: list[Rebalance], trace: Trace, output: Path) -> None:
    from groupproof.harness.model.report_paths import case_place
    from groupproof.harness.reports.output_folder import check_folder, write_text
    from groupproof.harness.reports.pictures.rebalance_picture import picture_of

    for group in dict.fromkeys(rebalance.group for rebalance in found):
        name = case_place(group).rpartition("/")[2]
        with check_folder(output):
            write_text(output / f"{name}.svg", picture_of(group, trace, [rebalance for rebalance in found if rebalance.group == group]))
