"""klab view: the runs of a folder as pages, on loopback or as files."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from kernellab.cli.options import HERE, Json, named
from kernellab.cli.pages import print_json
from kernellab.cli.screen import Screen, waiting
from kernellab.core.errors import UsageError

_out = Screen()


def view(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Runs, or one run. Default: klab-runs.")] = HERE,
    port: Annotated[int, typer.Option(min=0, max=65535, help="On loopback; 0: any that is free.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address, and open no browser.")] = False,
    static: Annotated[
        Path | None, typer.Option("--static", parser=named, metavar="OUT", help="Write the pages as files, and end.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The runs of a folder as pages to look at: all runs, a run while it goes on, each trial, suites, studies and
    certificates. Nothing is changed; only this machine can reach it, with the token in the address that is printed."""
    from kernellab.report.run_list import run_folders

    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", "give a folder of runs; klab-runs/ holds them by default")
    if next(iter(run_folders(folder)), None) is None:
        raise UsageError(f"there are no runs in {folder}", "'klab run' starts one, in klab-runs/ if no --out is given")
    if static is not None:
        _write(folder, static, as_json)
    else:
        try:
            _serve(folder, port, no_open, as_json)
        except SystemExit as ended:  # a signal says so
            _leave(ended.code)


def _write(folder: Path, out: Path, as_json: bool) -> None:
    from kernellab.view.files import write_files

    with waiting(f"checking the runs of {folder} and writing their pages"):
        count = write_files(folder, out)
    if as_json:
        print_json({"status": "written", "out": str(out), "pages": count})
    else:
        _out.print(f"wrote {count} pages; open {out / 'index.html'}", markup=False, soft_wrap=True)


def _serve(folder: Path, port: int, no_open: bool, as_json: bool) -> None:
    from kernellab.view.server import listen, open_site, require_packages, serve

    require_packages()
    from kernellab.core.loopback import read_token

    token, _ = read_token(variable="KLAB_VIEW_TOKEN")
    with listen(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        if as_json:
            print_json({"status": "serving", "url": f"{address}?token={token}", "folder": str(folder)})
        else:
            _out.print(f"{folder} at {address}?token={token}", markup=False, soft_wrap=True)
            _out.print("Ctrl-C ends it", style="dim")
        site = open_site(folder)
        for ahead in (site.prepare, lambda: _warm(site.shown)):
            threading.Thread(target=ahead, daemon=True).start()
        if not no_open and not as_json and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            import webbrowser

            webbrowser.open(f"{address}?token={token}")
        try:
            serve(site, token, listening)
        except KeyboardInterrupt:
            _leave(0)


def _leave(code: object) -> None:
    """At once: Python's own end may abort where a thread that draws ahead is still at work, and there is nothing to save."""
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 1)


def _warm(shown: threading.Event) -> None:
    """The first drawing of a process takes seconds; it is made while nobody waits for it."""
    shown.wait()
    from kernellab.core.errors import KlabError
    from kernellab.report.paper.charts import hand

    try:
        hand()
    except KlabError:  # without the packages for charts, each page says which are missing
        return
