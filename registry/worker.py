"""The sync worker's process: `python -m registry.worker`, started and watched by `registry serve`."""

import os
import sys

from registry.errors import SettingsInvalid
from registry.processes import collect_rarely
from registry.settings import load_settings
from registry.wiring import configure_logs, run_worker


def main() -> None:
    """Run the worker from the environment until it is told to stop, or the process named by the argument ends."""
    try:
        settings = load_settings()
    except SettingsInvalid as error:
        sys.exit(str(error))
    configure_logs(settings)
    collect_rarely()
    run_worker(settings, int(sys.argv[1]) if len(sys.argv) > 1 else os.getppid())


if __name__ == "__main__":
    main()
