"""The tables of proto: complete, without contradiction, and the same as their generated pages."""

from __future__ import annotations

import importlib.util
from collections import Counter
from typing import get_args

import pytest

from proto import messages, reasons
from proto.messages import Message
from proto.registry import HEALTH_FAMILIES, SERVICES, TOPIC_PUBLISHERS, Service, service
from proto.topics import COMMAND_ENDPOINTS, TOPICS, Topic, health_topic
from proto.units import SUFFIX_OF_UNIT
from runtime.rundir import IPC_NAME_MAX_BYTES
from tools import gen_docs
from tools.message_tables import field_units

MESSAGES: list[type[Message]] = [Message, *Message.__subclasses__()]
PROGRAMS = [pytest.param(declared, id=declared.program) for declared in SERVICES]
STREAMS = [pytest.param(topic, id=topic.name) for topic in TOPICS]


@pytest.mark.parametrize("topic", STREAMS)
def test_each_topic_has_one_publishing_family_and_it_owns_the_endpoint(topic: Topic) -> None:
    families = {declared.family for declared in SERVICES if topic in declared.publishes}
    assert families == {topic.endpoint}


def test_topic_names_are_unique_and_none_begins_another() -> None:
    names = [topic.name for topic in TOPICS]
    names += [health_topic(family).name for family in HEALTH_FAMILIES]
    assert not [name for name, count in Counter(names).items() if count > 1]
    # A subscription is a prefix: `a.b` would also deliver `a.bc`.
    assert not [(a, b) for a in names for b in names if a != b and b.startswith(a)]


@pytest.mark.parametrize("declared", PROGRAMS)
def test_each_topic_that_a_program_reads_is_declared_and_published(declared: Service) -> None:
    assert set(declared.subscribes) <= set(TOPICS)
    assert set(declared.publishes) <= set(TOPICS)
    assert {topic.endpoint for topic in declared.subscribes} <= set(TOPIC_PUBLISHERS)


def test_telemetry_reads_every_topic() -> None:
    assert set(service("telemetry").subscribes) == set(TOPICS)


def test_ports_are_unique_across_transports() -> None:
    numbers = Counter(port.number for declared in SERVICES for port in declared.ports)
    assert not [number for number, count in numbers.items() if count > 1]
    assert all(1024 <= number <= 65535 for number in numbers)


def test_programs_are_unique_and_can_be_looked_up() -> None:
    names = [declared.program for declared in SERVICES]
    assert len(names) == len(set(names))
    assert [service(name) for name in names] == list(SERVICES)
    with pytest.raises(KeyError, match="there are: pulse, hangcheck"):
        service("nobody")


@pytest.mark.parametrize("declared", PROGRAMS)
def test_each_program_can_be_started(declared: Service) -> None:
    """`python -m MODULE` needs the module, and in a package its __main__."""
    spec = importlib.util.find_spec(declared.module)
    assert spec is not None, f"{declared.module} does not exist"
    if spec.submodule_search_locations is not None:
        main = f"{declared.module}.__main__"
        assert importlib.util.find_spec(main) is not None, f"{main} does not exist"


@pytest.mark.parametrize("declared", PROGRAMS)
def test_each_program_has_sane_figures(declared: Service) -> None:
    assert 0 < declared.cpu_budget_pct <= 100
    assert 1 <= declared.stop_wait_s <= 10
    assert declared.hang_after_s is None or declared.hang_after_s >= 2
    assert (declared.kind == "service") == (declared.family in HEALTH_FAMILIES)
    assert declared.about


def test_what_can_move_a_robot_stops_first() -> None:
    arms = [d.stop_rank for d in SERVICES if d.module == "services.arm"]
    others = [d.stop_rank for d in SERVICES if d.module != "services.arm"]
    assert min(arms) > max(others)


def test_programs_of_one_family_publish_the_same_and_only_one_starts_by_itself() -> None:
    for family in {declared.family for declared in SERVICES}:
        siblings = [declared for declared in SERVICES if declared.family == family]
        assert len({declared.publishes for declared in siblings}) == 1
        assert sum(declared.autostart for declared in siblings) == 1


@pytest.mark.parametrize("topic", [*STREAMS, health_topic("x")])
def test_rates_are_events_or_1_to_1000_hz(topic: Topic) -> None:
    assert topic.rate_hz is None or 1 <= topic.rate_hz <= 1000


def test_endpoint_names_fit_into_a_socket_path() -> None:
    names = {*COMMAND_ENDPOINTS.values(), *HEALTH_FAMILIES, *(topic.endpoint for topic in TOPICS)}
    assert max(len(f"{name}.ipc") for name in names) <= IPC_NAME_MAX_BYTES
    assert set(COMMAND_ENDPOINTS.values()).isdisjoint({*HEALTH_FAMILIES, *TOPIC_PUBLISHERS})


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_a_name_ends_in_its_unit_and_a_unit_is_in_its_name(message: type[Message]) -> None:
    """Both ways: a field with a unit has the suffix, a field with the suffix has the unit."""
    unit_of_suffix = {suffix: unit for unit, suffix in SUFFIX_OF_UNIT.items()}
    wrong = {}
    for name, unit in field_units(message).items():
        suffix = f"_{name.rpartition('_')[2]}"
        if unit_of_suffix.get(suffix) != unit or (unit and unit not in SUFFIX_OF_UNIT):
            wrong[name] = unit
    assert not wrong


def test_every_message_class_is_on_the_bus() -> None:
    public = {
        value
        for value in vars(messages).values()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    }
    streamed = {topic.message for topic in (*TOPICS, health_topic("x"))}
    assert public == {*streamed, messages.OperatorCommand}


def test_lists_of_words_and_their_types_agree() -> None:
    assert get_args(reasons.State) == reasons.STATES
    assert get_args(reasons.Reason) == reasons.REASONS
    assert get_args(reasons.Side) == reasons.SIDES


def test_the_first_reason_is_the_one_of_highest_precedence() -> None:
    assert reasons.first_reason() == ""
    assert reasons.first_reason("", "clamped", "fault", "stale") == "fault"


def test_generated_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_docs.main(["--check"]) == 0, capsys.readouterr().err
