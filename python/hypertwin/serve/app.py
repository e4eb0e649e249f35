"""Addresses of the server, and their answers. Every request has passed `access.py`.

A page of a run has another origin than the app (`sandbox` of its policy), so a hostile page cannot use the session.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hypertwin import _core
from hypertwin.errors import HypertwinError, ScenarioError
from hypertwin.scenario.overrides import parse_sets
from hypertwin.serve import imports, runs
from hypertwin.serve.files import Folder
from hypertwin.serve.offers import Offer
from hypertwin.serve.refusal import RefusedError
from hypertwin.serve.runs import Run, Runs
from hypertwin.serve.workers import Workers
from hypertwin.show.page import ICON

LIVE = "/api/live"
"""Address of the data of a live page."""

CHECK_S, SIMULATE_S = 20.0, 120.0
"""Maximum seconds of a check, and of a live simulation."""
WORKERS, WORKER_MEMORY = 2, 4 << 30
"""Processes for checks and live simulations, and bytes of address space of each."""
BEAT_S = 15.0
"""Seconds between two signs of life in a stream of events."""
UNNAMED = "scenario.yaml"
"""Name of a text without a file, in messages."""
ASSETS = {"app.js": "text/javascript", "app.css": "text/css"}

INDEX = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hypertwin</title>
<link rel="icon" href="{escape(ICON)}">
<link rel="stylesheet" href="/assets/app.css">
</head><body><div id="app"></div>
<noscript>This page needs JavaScript. Every command also works on the command line: hypertwin --help</noscript>
<script src="/assets/app.js" defer></script>
</body></html>
"""

Handler = Callable[["Api", Request], Awaitable[Response]]


@dataclass
class Api:
    """Parts of the server that answers use."""

    folder: Folder
    runs: Runs
    offers: Mapping[str, Offer]
    workers: Workers
    state: Path
    compare: Callable[[str, str], list[str]]
    """Function that returns the command line that compares two results."""


def application(api: Api) -> Starlette:
    """Return the ASGI application, without its protection."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await api.runs.close()
        await api.workers.close()

    routes = [Route(path, _bound(handler, api), methods=methods) for path, methods, handler in ROUTES]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http})


def _bound(handler: Handler, api: Api) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler with errors as answers."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(api, request)
        except RefusedError as error:
            return _refused(error.status, str(error))
        except ScenarioError as error:
            return _refused(422, str(error), error.code)
        except HypertwinError as error:
            return _refused(500, str(error), error.code)
        except UnicodeEncodeError:  # half of a pair of UTF-16, which JSON can have
            return _refused(422, "allowed: text that UTF-8 can have", "not-utf-8")
        except ClientDisconnect:
            return Response(status_code=499)

    return answer


async def _http(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _refused(status, {404: "no such address", 405: "the address has no such method"}.get(status, "an error"))


def _refused(status: int, message: str, code: str = "") -> Response:
    return JSONResponse({"error": message, **({"code": code} if code else {})}, status)


async def _index(_api: Api, _request: Request) -> Response:
    return Response(INDEX, media_type="text/html")


async def _asset(_api: Api, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    file = resources.files("hypertwin.serve") / name
    return Response(file.read_bytes(), media_type=ASSETS[name])


async def _folder(api: Api, _request: Request) -> Response:
    listed = await asyncio.to_thread(api.folder.listed)
    shown = api.folder.only or api.folder.path.name or str(api.folder.path)
    return JSONResponse(
        {"name": shown, "version": _core.version(), "read_only": api.folder.is_read_only, "files": listed}
    )


async def _schema(_api: Api, _request: Request) -> Response:
    return Response(_core.schema_json(), media_type="application/json")


async def _questions(api: Api, _request: Request) -> Response:
    return JSONResponse([each.to_dict() for each in api.offers.values()])


async def _scenario(api: Api, request: Request) -> Response:
    name = request.path_params["name"]
    found = await asyncio.to_thread(api.folder.read, name)
    checked = await _check_text(api, name, found.text)
    return JSONResponse({"name": name, "text": found.text, "sha256": found.sha256, **checked})


async def _save(api: Api, request: Request) -> Response:
    name = request.path_params["name"]
    data = await _json(request, ["opened"], text=str)
    opened = data.get("opened")
    if opened is not None and not isinstance(opened, str):
        raise RefusedError(422, "opened: a hash or null")
    saved = await asyncio.to_thread(api.folder.save, name, data["text"], opened)
    return JSONResponse({"name": name, "sha256": saved.sha256})


async def _check(api: Api, request: Request) -> Response:
    data = await _json(request, ["name"], text=str)
    return JSONResponse(await _check_text(api, str(data.get("name") or UNNAMED), data["text"]))


async def _check_text(api: Api, name: str, text: str) -> dict[str, Any]:
    return await api.workers.ask({"request": "check", "name": name, "text": text}, CHECK_S)


async def _simulate(api: Api, request: Request) -> Response:
    settings = ("set", "replications", "duration", "warmup", "seed")
    data = await _json(request, ["file", "text", *settings])
    name = data.get("file")
    text = data.get("text")
    if text is None:
        text = (await asyncio.to_thread(api.folder.read, _named(name))).text
    asked = {key: data.get(key) for key in settings}
    if not isinstance(text, str) or not isinstance(asked["set"], dict | None):
        raise RefusedError(422, "text: YAML; set: an object of values by path")
    question = {
        "request": "page" if request.url.path == LIVE else "simulate",
        "name": name if isinstance(name, str) else "scenario.yaml",
        "text": text,
        **asked,
    }
    answer = asyncio.ensure_future(api.workers.ask(question, SIMULATE_S))
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        found = await answer
    finally:
        for task in (answer, gone):
            task.cancel()
    return JSONResponse(found, 422 if "error" in found else 200)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _import(api: Api, request: Request) -> Response:
    name = request.path_params["name"]
    if api.folder.is_read_only:
        raise RefusedError(403, "this server only reads (--read-only)")
    target = request.query_params.get("to", f"{Path(name).stem}.yaml")
    exported = request.query_params.get("from")
    with tempfile.TemporaryDirectory(prefix="upload-", dir=api.state) as place:
        if exported is not None:
            source = await asyncio.to_thread(api.folder.export, exported)
        else:
            source = Path(place) / imports.file_name(name)
            await imports.receive(request.stream(), source)
        made, notes = await imports.make(source, exported or name, api.folder, target)
    return JSONResponse({"name": target, "sha256": made.sha256, "notes": notes}, 201)


async def _runs(api: Api, _request: Request) -> Response:
    return JSONResponse([run.to_dict() for run in api.runs.all()])


async def _start(api: Api, request: Request) -> Response:
    data = await _json(request, ["options", "text", "tab", "keep"], command=str, file=str)
    offer = api.offers.get(data["command"])
    if offer is None:
        raise RefusedError(422, f"no command {data['command'][:80]!r}; allowed: {', '.join(api.offers)}")
    options = data.get("options") or {}
    if not isinstance(options, dict):
        raise RefusedError(422, "options: an object of values by option")
    name = data["file"]
    text = data.get("text")
    if text is None:
        text = (await asyncio.to_thread(api.folder.read, name)).text
    elif not isinstance(text, str):
        raise RefusedError(422, "text: YAML")
    api.folder.check_scenario_name(name)
    words = offer.words(name, options)
    inputs = {name: text.encode()}
    jobs = await asyncio.to_thread(api.folder.jobs, name, text, _changes(offer, options))
    inputs = {**{each: content for each, content in jobs.items() if each not in _RESERVED}, **inputs}
    run = api.runs.start(_with_outputs(words), name, inputs, tab=_tab(data), is_kept=data.get("keep") is True)
    return JSONResponse(run.to_dict(), 201)


_RESERVED = {runs.RECORD, runs.PAGE, runs.RESULT, runs.SAID}


def _changes(offer: Offer, options: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Return the changes that options make, for the files that these name."""
    typed = offer.changes(options)
    try:
        return [*parse_sets(each for each in typed if "=" in each).items()]
    except ScenarioError:  # the command shows the error
        return []


def _with_outputs(words: list[str]) -> list[str]:
    """Return a command line that prints JSON and writes a page."""
    at = words.index("--")
    return [*words[:at], "--format=json", f"--report={runs.PAGE}", *words[at:]]


async def _compare(api: Api, request: Request) -> Response:
    data = await _json(request, ["tab", "keep"], a=str, b=str)
    sides = [api.runs.get(data[key]) for key in ("a", "b")]
    inputs = {
        f"{letter}.json": await asyncio.to_thread(api.runs.output(run.id, runs.RESULT).read_bytes)
        for letter, run in zip("ab", sides, strict=True)
    }
    words = _with_outputs(api.compare(*inputs))
    named = " and ".join(f"{each.file} ({' '.join(_plain(each))})" for each in sides)
    run = api.runs.start(words, named, inputs, tab=_tab(data), is_kept=data.get("keep") is True)
    return JSONResponse(run.to_dict(), 201)


def _plain(run: Run) -> list[str]:
    """Return the words and settings of a run, for its name in a comparison."""
    at = run.command.index("--") if "--" in run.command else len(run.command)
    return [each for each in run.command[:at] if not each.startswith(("--format=", "--report="))][:12]


async def _run(api: Api, request: Request) -> Response:
    return JSONResponse(api.runs.get(request.path_params["id"]).to_dict())


async def _change(api: Api, request: Request) -> Response:
    data = await _json(request, keep=bool)
    return JSONResponse(api.runs.keep(request.path_params["id"], data["keep"]).to_dict())


async def _cancel(api: Api, request: Request) -> Response:
    return JSONResponse(api.runs.cancel(request.path_params["id"]).to_dict(), 202)


async def _delete(api: Api, request: Request) -> Response:
    run = api.runs.get(request.path_params["id"])
    if run.ended is None:
        api.runs.cancel(run.id)
        return JSONResponse(run.to_dict(), 202)
    api.runs.delete(run.id)
    return Response(status_code=204)


async def _events(api: Api, request: Request) -> Response:
    tab = request.query_params.get("tab", "")[:64]
    only = request.path_params.get("id")
    if only is not None:
        api.runs.get(only)

    async def stream() -> AsyncIterator[str]:
        events = api.runs.events(tab)
        first = [api.runs.get(only)] if only else api.runs.all()
        yield f"event: runs\ndata: {json.dumps([run.to_dict() for run in first])}\n\n"
        waiting: asyncio.Future[Run | None] | None = None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(events))
                await asyncio.wait({waiting}, timeout=BEAT_S)
                if not waiting.done():
                    yield ": alive\n\n"
                    continue
                run, waiting = waiting.result(), None
                if run is None:
                    yield f"event: runs\ndata: {json.dumps([each.to_dict() for each in api.runs.all()])}\n\n"
                elif only in (None, run.id):
                    yield f"event: run\ndata: {json.dumps(run.to_dict())}\n\n"
        finally:
            if waiting is not None:
                waiting.cancel()
                await asyncio.wait({waiting})
            await events.aclose()  # type: ignore[attr-defined]

    return StreamingResponse(stream(), media_type="text/event-stream")


async def _page(api: Api, request: Request) -> Response:
    run = api.runs.get(request.path_params["id"])
    headers = {}
    if "download" in request.query_params:
        headers["content-disposition"] = f'attachment; filename="hypertwin-{run.id}.html"'
    return FileResponse(api.runs.output(run.id, runs.PAGE), media_type="text/html", headers=headers)


async def _result(api: Api, request: Request) -> Response:
    return FileResponse(api.runs.output(request.path_params["id"], runs.RESULT), media_type="application/json")


async def _json(request: Request, others: Sequence[str] = (), **needed: type) -> dict[str, Any]:
    """Return the object in a body, with keys of these types, and no keys but `others`. Raises RefusedError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(415, "content-type: allowed: application/json")
    body = await request.body()
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "the body is not JSON") from None
    if not isinstance(data, dict):
        raise RefusedError(400, "the body is not an object")
    unknown = [key for key in data if key not in needed and key not in others]
    if unknown:
        raise RefusedError(422, f"unknown key {unknown[0][:80]!r}; allowed: {', '.join((*needed, *others))}")
    for key, kind in needed.items():
        if not isinstance(data.get(key), kind):
            raise RefusedError(422, f"{key}: {kind.__name__} is missing or of another type")
    return data


def _named(name: object) -> str:
    if not isinstance(name, str):
        raise RefusedError(422, "file or text is missing")
    return name


def _tab(data: Mapping[str, Any]) -> str:
    tab = data.get("tab", "")
    return tab[:64] if isinstance(tab, str) else ""


ROUTES: list[tuple[str, list[str], Handler]] = [
    ("/", ["GET"], _index),
    ("/assets/{name}", ["GET"], _asset),
    ("/api/folder", ["GET"], _folder),
    ("/api/schema", ["GET"], _schema),
    ("/api/questions", ["GET"], _questions),
    ("/api/scenario/{name}", ["GET"], _scenario),
    ("/api/scenario/{name}", ["PUT"], _save),
    ("/api/check", ["POST"], _check),
    ("/api/simulate", ["POST"], _simulate),
    (LIVE, ["POST"], _simulate),
    ("/api/import/{name}", ["POST"], _import),
    ("/api/compare", ["POST"], _compare),
    ("/api/events", ["GET"], _events),
    ("/api/runs", ["GET"], _runs),
    ("/api/runs", ["POST"], _start),
    ("/api/runs/{id}", ["GET"], _run),
    ("/api/runs/{id}", ["PATCH"], _change),
    ("/api/runs/{id}", ["DELETE"], _delete),
    ("/api/runs/{id}/cancel", ["POST"], _cancel),
    ("/api/runs/{id}/events", ["GET"], _events),
    ("/runs/{id}/page", ["GET"], _page),
    ("/runs/{id}/result", ["GET"], _result),
]
"""Every address with its methods."""
