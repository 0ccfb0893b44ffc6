import subprocess
import sys
import time


def test_listing_the_commands_imports_none_of_the_heavy_libraries():
    heavy = ("litestar", "pydantic", "sqlalchemy", "httpx", "pygit2", "tantivy", "granian")
    script = f"import sys, registry.cli.main; sys.exit(','.join(set({heavy}) & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_appears_at_once():
    def took() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "registry.cli", "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    # The best of some: another process may be using the machine.
    assert min(took() for _ in range(5)) < 0.6
