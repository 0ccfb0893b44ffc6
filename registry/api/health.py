"""`/healthz`, `/readyz` and `/metrics`: for whoever runs the registry."""

from litestar import Response, get

from registry.api.answers import NO_STORE, NOSNIFF, Answer
from registry.api.door import HttpRequest, door_of, respond, respond_json
from registry.errors import Unavailable

METRICS_TYPE = (b"content-type", b"text/plain; version=0.0.4")  # the framework adds the charset to text


@get("/healthz")
async def get_liveness(request: HttpRequest) -> Response[bytes]:  # noqa: ARG001 - what the framework passes
    """200 while the event loop turns."""
    return respond_json({"status": "ok"}, cache=NO_STORE)


@get("/readyz")
async def get_readiness(request: HttpRequest) -> Response[bytes]:
    """200 once there is something to serve, else a 503 problem that says what is missing."""
    ready, reason = door_of(request).services.health.ready()
    if not ready:
        raise Unavailable(reason)
    return respond_json({"status": "ready"}, cache=NO_STORE)


@get("/metrics")
async def get_metrics(request: HttpRequest) -> Response[bytes]:
    """Counters and gauges in Prometheus' text format."""
    door = door_of(request)
    return respond(Answer(200, [METRICS_TYPE, NOSNIFF, NO_STORE], await door.call(door.metrics)))
