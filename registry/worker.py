"""The sync worker's process: `python -m registry.worker`, started and watched by `registry serve`."""

from registry.settings import load_settings
from registry.wiring import configure_logs, run_worker


def main() -> None:
    """Run the worker from the environment until it is told to stop."""
    settings = load_settings()
    configure_logs(settings)
    run_worker(settings)


if __name__ == "__main__":
    main()
