"""The application: routes behind a guard, and the page in front of them."""

from __future__ import annotations

import importlib
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from veil.base.version import __version__
from veil.errors import VeilError
from veil.web import help as documentation
from veil.web.api_page import api_page
from veil.web.guard import Guard
from veil.web.problems import REFUSALS, Refused, refuse
from veil.web.routes import entrance
from veil.web.workbench import Workbench

PAGE = Path(str(files("veil.web").joinpath("page")))
ROUTES = (
    *("sessions", "tables", "catalogue", "plan", "projects", "tasks", "questions", "budgets", "promises"),
    *("verify", "help", "releases", "search", "ways", "risks", "utility", "delivery"),
)
"""The subjects of the API, in the order of its description."""


def create_api() -> FastAPI:
    """Create the application that answers the requests of sessions."""
    api = _application()
    for name in ROUTES:  # imported here, so that a server whose sessions are processes starts without them
        routes = importlib.import_module(f"veil.web.routes.{name}")
        api.include_router(routes.router, prefix="/api/v1")

    @api.get("/api/v1", include_in_schema=False)
    def show_api() -> HTMLResponse:
        return HTMLResponse(api_page(api.openapi()))

    return api


def _application() -> FastAPI:
    """Create an application without telemetry, regardless of the environment."""
    app = FastAPI(
        title="Veil workbench",
        version=__version__,
        description="Everything that the pages of the workbench do, for programs. Send the token as `Authorization: Bearer`.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # it would load scripts from other hosts
        redoc_url=None,
        responses=REFUSALS,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.include_router(entrance.router, prefix="/api/v1")
    for error in (Refused, VeilError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(error, refuse)
    return app


def create_app(workbench: Workbench) -> FastAPI:
    """Create the application of a workbench: all routes, or the entrance only if sessions are processes."""
    app = _application() if workbench.apart else create_api()
    app.state.workbench = workbench

    @app.get("/", include_in_schema=False)
    def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    pictures = documentation.home()
    if pictures is not None and (pictures / "_static").is_dir():
        app.mount(
            f"{documentation.PICTURES}/_static", StaticFiles(directory=pictures / "_static"), name="pictures"
        )

    # The page's own files only: the length of compressed answers would leak values.
    app.mount("/page", GZipMiddleware(StaticFiles(directory=PAGE), minimum_size=500), name="page")
    app.add_middleware(Guard, workbench=workbench)
    return app
