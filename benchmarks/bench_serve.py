"""Catalogs a second from one serving process, beside a bare ASGI function and nginx with the same bytes."""

import argparse
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from load import load
from support import (
    Process,
    Repository,
    Row,
    bare,
    folder,
    free_port,
    median,
    playbook,
    ratio,
    registry,
    rounds,
    started,
    table,
)

GOAL = 0.9
CASES = {"2 KB": "small", "200 KB, gzip": "large", "304": "unchanged"}
HOP_BY_HOP = {"connection", "date", "server", "transfer-encoding"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--seconds", type=float, default=1)
    chosen = options.parse_args()
    with folder() as place:
        central = Repository(place / "git" / "acme" / "playbooks")
        central.commit({f".playbooks/{name}.yaml": playbook(name) for name in ("roll-back", "drain-node")})
        service = Repository(place / "git" / "acme" / "shop")
        service.commit({f".playbooks/fix-{n}.yaml": playbook(f"fix-{n}", word=f"shop{n}") for n in range(250)})
        with registry(place / "data", central) as server:
            register(server, "github.com/acme/shop", service.url)
            asked = requests(server)
            answers = place / "answers"
            record(server, asked, answers)
            with bare(answers) as peer, nginx(place, answers) as web:
                rows = [measure(case, chosen.rounds, chosen.seconds, server, peer, web, asked) for case in CASES]
    table(
        "serve: catalog GETs a second, one worker each, 32 connections",
        ["registry/s", "bare/s", "registry : bare", "nginx/s", "registry : nginx", "bytes"],
        rows,
        f"`registry : bare` is the share of what a plain ASGI function on the same server reaches; the goal is {GOAL} "
        "or more.\nnginx (one worker, static files) is the limit of the machine and has no goal.",
    )


def register(server: Process, repository: str, url: str) -> None:
    status, _, body = server.call(
        "PUT", f"/v1/repositories/{repository}", {"url": url, "team": "shop"}, {"prefer": "wait=30"}
    )
    if status >= 300:
        raise SystemExit(f"registering answered {status}: {body.decode()}")


def requests(server: Process) -> dict[str, tuple[str, dict[str, str]]]:
    """Case -> (path, headers) as they are asked of the registry."""
    etag = server.get("/v1/catalogs")[1]["etag"]
    return {
        "2 KB": ("/v1/catalogs", {}),
        "200 KB, gzip": ("/v1/catalogs/github.com/acme/shop", {"accept-encoding": "gzip"}),
        "304": ("/v1/catalogs", {"if-none-match": etag}),
    }


def record(server: Process, asked: Mapping[str, tuple[str, dict[str, str]]], answers: Path) -> None:
    """Write what the registry answers, for the peers to answer the same."""
    answers.mkdir()
    for case, (path, headers) in asked.items():
        status, found, body = server.get(path, headers)
        kept = [[name, value] for name, value in found.items() if name not in HOP_BY_HOP]
        (answers / f"{CASES[case]}.json").write_text(json.dumps({"status": status, "headers": kept}))
        (answers / f"{CASES[case]}.body").write_bytes(body)


@contextmanager
def nginx(place: Path, answers: Path) -> Iterator[Process | None]:
    """nginx with one worker over the same bytes as files, or None where it is not installed."""
    binary = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if binary is None:
        yield None
        return
    root, port = place / "www", free_port()
    root.mkdir()
    for case, name in CASES.items():
        body = (answers / f"{name}.body").read_bytes()
        (root / name).write_bytes(body if case != "304" else (answers / "small.body").read_bytes())
    (root / "ready").write_text("ready")
    configuration = place / "nginx.conf"
    user = "user root;" if place.owner() == "root" else ""
    configuration.write_text(
        f"{user} worker_processes 1; daemon off; pid {place}/nginx.pid; error_log {place}/nginx.log;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; sendfile on; keepalive_requests 100000000; default_type application/json;\n"
        f"  server {{ listen 127.0.0.1:{port}; root {root}; open_file_cache max=16; }} }}\n"
    )
    with started([binary, "-c", str(configuration)], port, ready="/ready", environment={}) as process:
        yield process


def measure(
    case: str,
    count: int,
    seconds: float,
    server: Process,
    peer: Process,
    web: Process | None,
    asked: Mapping[str, tuple[str, dict[str, str]]],
) -> Row:
    path, headers = asked[case]
    status = 304 if case == "304" else 200

    def reaching(process: Process, target: str, sent: Mapping[str, str]) -> Callable[[], float]:
        return lambda: load(process, target, sent, seconds=seconds, status=status).per_s

    subjects = [reaching(server, path, headers), reaching(peer, f"/{CASES[case]}", headers)]
    if web is not None:
        sent = {"if-none-match": web.get(f"/{CASES[case]}")[1]["etag"]} if status == 304 else headers
        subjects.append(reaching(web, f"/{CASES[case]}", sent))
    ours, bares, *others = rounds(count, *subjects)
    share = ratio(ours, bares)
    beside = (f"{median(others[0]):,.0f}", f"{ratio(ours, others[0]):.2f}") if others else ("-", "-")
    sent_bytes = len(server.get(path, headers)[2])
    return Row(
        case,
        (f"{median(ours):,.0f}", f"{median(bares):,.0f}", f"{share:.2f}", *beside, f"{sent_bytes:,}"),
        share >= GOAL,
    )


if __name__ == "__main__":
    main()
