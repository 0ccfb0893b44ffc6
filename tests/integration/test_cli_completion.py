"""The scripts of `registry completion`, and what a shell gets to offer from them."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from pathlib import Path

import pytest
from cli import catalog, entry, repository, run

NOBODY = "http://127.0.0.1:1"


def offered(*words: str, **environment: str) -> list[str]:
    """What bash is offered for `registry <words>`, the last of which is being typed."""
    given = {
        "_REGISTRY_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("registry", *words)),
        "COMP_CWORD": str(len(words)),
        "REGISTRY_URL": NOBODY,
        **environment,
    }
    lines = run(**given).stdout.splitlines()
    return [line.partition(",")[2] for line in lines if line.startswith("plain,")]


@contextmanager
def answering(bodies: dict[str, object], delay_s: float = 0.0) -> Iterator[str]:
    """The URL of a registry that gives these bodies by path, each after a while."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(delay_s)
            body = dumps(bodies.get(self.path, {})).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def page(*ids: str, next_cursor: str | None = None) -> dict[str, object]:
    return {"items": [repository(id=identity) for identity in ids], "next_cursor": next_cursor}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_the_program_by_its_name(shell: str):
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_REGISTRY_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_one_that_its_shell_reads(shell: str):
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not on this machine")
    script = run("completion", shell).stdout
    done = subprocess.run([found, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_itself_completes_a_command(tmp_path: Path):
    found = shutil.which("bash")
    if found is None:
        pytest.skip("bash is not on this machine")
    program = tmp_path / "registry"
    program.write_text(f'#!{found}\nexec {sys.executable} -m registry.cli "$@"\n')
    program.chmod(0o755)
    script = (
        f"{run('completion', 'bash').stdout}\nCOMP_WORDS=(registry explai)\nCOMP_CWORD=1\n"
        f"_registry_completion {program}\necho ${{COMPREPLY[@]}}"
    )
    done = subprocess.run([found, "--norc", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["explain"], done.stderr


def test_commands_are_offered():
    assert offered("re") == ["register", "repositories"]


def test_commands_of_a_group_are_offered():
    assert offered("policy", "wi") == ["withdraw"]


def test_options_are_offered():
    assert offered("register", "--te") == ["--team"]


def test_values_of_an_option_are_offered():
    assert offered("check", "--format", "g") == ["github"]


def test_where_no_registry_answers_nothing_is_offered():
    assert offered("sync", "") == []


def test_repositories_are_offered_from_every_page():
    bodies = {
        "/v1/repositories?limit=200": page("github.com/acme/app", "github.com/acme/web", next_cursor="a/b"),
        "/v1/repositories?limit=200&cursor=a%2Fb": page("github.com/acme/api", "gitlab.com/x/y"),
    }
    with answering(bodies) as url:
        assert offered("sync", "github.com/acme/a", REGISTRY_URL=url) == ["github.com/acme/app", "github.com/acme/api"]


def test_playbooks_are_offered_from_the_catalog_of_the_repository_that_was_named():
    here = {"/v1/catalogs/github.com%2Facme%2Fapp": catalog(entry("deploy-here")), "/v1/catalogs": catalog(entry("d"))}
    with answering(here) as url:
        found = offered("explain", "--repository", "github.com/acme/app", "d", REGISTRY_URL=url)
    assert found == ["deploy-here"]


def test_the_registry_that_an_option_names_is_asked():
    with answering({"/v1/catalogs": catalog(entry("deploy"))}) as url:
        assert offered("explain", "--url", url, "de") == ["deploy"]


@pytest.mark.parametrize("name", ["$(reboot)", "a;b", "a b", "a*", "`x`", "a\nplain,b", "-rf", "\x1b[2J"])
def test_nothing_that_a_shell_would_read_as_more_than_a_word_is_offered(name: str):
    with answering({"/v1/repositories?limit=200": page(name)}) as url:
        assert offered("sync", "", REGISTRY_URL=url) == []


def test_a_slow_registry_is_not_waited_for():
    with answering({"/v1/catalogs": catalog(entry("deploy"))}, delay_s=1.0) as url:
        start = time.perf_counter()
        found = offered("explain", "de", REGISTRY_URL=url)
        took_s = time.perf_counter() - start
    assert (found, took_s < 0.8) == ([], True)


@pytest.mark.parametrize("words", [("register", "--"), ("check", "--"), ("serve", "--"), ("",), ("explain", "a")])
def test_completing_imports_none_of_the_heavy_libraries(words: tuple[str, ...]):
    heavy = ("litestar", "pydantic", "sqlalchemy", "httpx", "pygit2", "tantivy", "granian", "rich")
    script = (
        "import sys\nfrom registry.cli.main import main\ntry:\n    main(prog_name='registry')\n"
        f"except SystemExit:\n    print(sorted(set({heavy}) & set(sys.modules)), file=sys.stderr)"
    )
    given = {"_REGISTRY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("registry", *words))}
    environment = {**os.environ, **given, "COMP_CWORD": str(len(words)), "REGISTRY_URL": NOBODY}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr.strip() == "[]"
