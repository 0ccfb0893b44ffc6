"""A made-up company: one central repository, fifty service repositories, a thousand playbooks, and who should serve.

The expectation is worked out here from the plan alone, by the sentences of the merge rules and none of the project's
code.
"""

from dataclasses import dataclass, field

CENTRAL = 40
SERVICES = 50
TOTAL = 1_000
NEEDED_BY_TAG = "data-deletion"
POLICY = f"""policy: 1
required:
  - {{name: central-04, reason: The path is audited.}}
  - {{name: central-05, reason: The path is audited.}}
  - {{tag: {NEEDED_BY_TAG}, reason: Deletion goes through the platform team.}}
"""
FREE = range(10, 38)
"""Numbers of the central playbooks that load and that nobody requires."""


@dataclass(frozen=True)
class File:
    """A generated playbook: its name, whether it loads, what it says of itself."""

    name: str
    purpose: str
    version: str = "1.0.0"
    loads: bool = True
    required: bool = False
    tagged: bool = False

    @property
    def path(self) -> str:
        """Where it lies in its repository."""
        return f"playbooks/{self.name}.yaml"

    @property
    def text(self) -> str:
        """The file."""
        steps = "\n  - {id: act, tool: shell.run, instruction: Act on it.}" if self.loads else " 7"
        return (
            f"playbook: 1\nname: {self.name}\nversion: {self.version}\nowner: platform\npurpose: {self.purpose}\n"
            f"tags: [{NEEDED_BY_TAG if self.tagged else 'everyday'}]\n"
            f"required: {str(self.required).lower()}\nsteps:{steps}\n"
        )


@dataclass
class Plan:
    """What lies where: name -> file for central and for each service; `marks` are names required through the API."""

    central: dict[str, File] = field(default_factory=dict)
    services: dict[str, dict[str, File]] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)

    def is_required(self, name: str) -> bool:
        """Whether local copies of a name must give way."""
        file = self.central.get(name)
        said = file is not None and (file.required or (file.tagged and file.loads))
        return said or name in {"central-04", "central-05"} | self.marks

    def serving(self, service: str | None) -> dict[str, tuple[str, str]]:
        """name -> (kind of the source, version) of what a service's catalog serves; None is central's own."""
        return {name: found for name in self._names(service) if (found := self._winner(name, service)) is not None}

    def unavailable(self, service: str | None) -> set[str]:
        """The names that nobody serves to a service."""
        return {name for name in self._names(service) if self._winner(name, service) is None}

    def copies_served(self) -> dict[str, int]:
        """Kind of source -> how many different copies serve in one catalog or another."""
        shared = {
            name
            for service in (None, *self.services)
            for name, (kind, _) in self.serving(service).items()
            if kind == "central"
        }
        local = sum(kind == "local" for service in self.services for kind, _ in self.serving(service).values())
        return {"central": len(shared), "local": local}

    def refused(self, service: str) -> set[str]:
        """The names of good local copies that a required playbook keeps out."""
        return {name for name, file in self.services[service].items() if file.loads and self.is_required(name)}

    def _names(self, service: str | None) -> set[str]:
        return self.central.keys() | (self.services[service].keys() if service else set())

    def _winner(self, name: str, service: str | None) -> tuple[str, str] | None:
        shared, own = self.central.get(name), self.services[service].get(name) if service else None
        if own is not None and own.loads and not self.is_required(name):
            return "local", own.version
        if shared is not None and shared.loads:
            return "central", shared.version
        return None


def company() -> Plan:
    """The plan: 40 central playbooks, two of them broken; 19 or 20 in each service, some shadowing, some broken."""
    plan = Plan()
    for number in range(CENTRAL):
        name = f"central-{number:02d}"
        plan.central[name] = File(
            name,
            f"Settle matter {number:02d} the way that the whole company does.",
            version=f"1.{number}.0",
            loads=number < 38,
            required=number in {0, 1, 2, 3, 39},
            tagged=number in {6, 7},
        )
    own = TOTAL - CENTRAL
    for number in range(SERVICES):
        count = own // SERVICES + (number < own % SERVICES)
        plan.services[f"service-{number:02d}"] = {file.name: file for file in _files(number, count)}
    assert len(plan.central) + sum(map(len, plan.services.values())) == TOTAL
    return plan


def _files(number: int, count: int) -> list[File]:
    service = f"service-{number:02d}"

    def shadow(other: int, *, loads: bool = True) -> File:
        purpose = f"Settle matter {other:02d} as {service} does."
        return File(f"central-{other:02d}", purpose, version=f"9.{number}.{other}", loads=loads)

    free = [FREE[(number * 5 + step * 7) % len(FREE)] for step in range(4)]
    special = [
        *(shadow(other) for other in free[:3]),
        shadow(number % 8),  # one that is required, by front matter, by name or by tag
        shadow(38 + number % 2),  # one whose central copy is broken
        # One that does not load: of a name that central has, or of its own.
        shadow(free[3], loads=False)
        if number % 2
        else File(f"{service}-broken", f"Never loads in {service}.", loads=False),
    ]
    plain = [
        File(f"{service}-task-{task:02d}", f"Restart the worker pool {task:02d} of {service} and drain its queue.")
        for task in range(count - len(special))
    ]
    return special + plain
