"""`hypertwin serve`: plan in the browser, with the files of a folder."""

from __future__ import annotations

import contextlib
import tempfile
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import progress, streams
from hypertwin.cli.commands import Input
from hypertwin.extras import needs

EXAMPLES = (
    "hypertwin serve",
    "hypertwin serve cluster.yaml --port 0 --read-only",
)


def command(
    path: Annotated[
        Path,
        Input(lambda _path, _arguments: ()),  # the app saves scenarios
        typer.Argument(metavar="[FOLDER|CLUSTER.yaml]", help="A folder with scenarios, or one scenario."),
    ] = Path(),
    *,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address of this computer to listen on.")] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="FILE", help="Token of at least 32 characters, in a file of mode 0600; for --host."),
    ] = None,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open the address in a browser.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Write no file into the folder.")] = False,
    runs: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Runs at the same time.")] = 2,
    memory: Annotated[int, typer.Option(metavar="GIB", min=1, max=4096, help="Address space of each run, in GiB.")] = 8,
    hours: Annotated[float, typer.Option(metavar="H", min=0.001, max=10_000, help="Maximum hours of a run.")] = 6.0,
    folder: Annotated[
        Path | None,
        typer.Option("--state", metavar="FOLDER", help="Keep runs here (default: a folder of the result cache)."),
    ] = None,
) -> None:
    """Serve a folder to browsers on this computer: edit scenarios, simulate, plan and compare."""
    needs("serve", "hypertwin serve")
    from hypertwin.cli import offered  # all commands take longer than the help
    from hypertwin.serve import access, server
    from hypertwin.serve.runs import Limits

    if host not in access.LOOPBACK:
        streams.warn(f"traffic to {host} is not encrypted: use an SSH tunnel instead, or only a network that you trust")

    def say(address: str) -> None:
        streams.write(f"{address}\n")
        streams.note("Open this address once. Ctrl-C ends the server.")
        if browse:
            stack.enter_context(_opened(address))

    settings = server.Settings(
        path,
        offered.offers(),
        offered.compare,
        host=host,
        port=port,
        token_file=token_file,
        is_read_only=read_only,
        state=folder,
        limits=Limits(runs, memory << 30, hours * 3600.0, progress.DESCRIPTOR),
    )
    with contextlib.ExitStack() as stack:
        server.serve(settings, say)


@contextlib.contextmanager
def _opened(address: str) -> Iterator[None]:
    """Open an address in a browser through a private file, because other users can see the words of a command."""
    with tempfile.TemporaryDirectory(prefix="hypertwin-") as folder:  # of mode 0700
        file = Path(folder, "open.html")
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">')
        webbrowser.open(file.as_uri())
        yield
