"""The generated conf says what the process table says, and nothing dangerous."""

from __future__ import annotations

from configparser import RawConfigParser
from pathlib import Path

import pytest

from proto.registry import SERVICES, Service
from tools import gen_supervisord


def parsed(text: str) -> RawConfigParser:
    parser = RawConfigParser(inline_comment_prefixes=(";",), strict=True)
    parser.read_string(text)
    return parser


def options_of(service: Service) -> dict[str, str]:
    kind = "eventlistener" if service.kind == "listener" else "program"
    return dict(parsed(gen_supervisord.render()).items(f"{kind}:{service.program}"))


def test_the_committed_file_is_the_generated_one() -> None:
    assert gen_supervisord.main(["--check"]) == 0


def test_no_network_socket_only_a_private_unix_one() -> None:
    conf = parsed(gen_supervisord.render())
    assert "inet_http_server" not in conf.sections()
    assert not any(section.startswith("inet_http_server") for section in conf.sections())
    assert conf.get("unix_http_server", "chmod") == "0700"
    assert conf.get("supervisorctl", "serverurl") == "unix://" + conf.get(
        "unix_http_server", "file"
    )


def test_each_program_of_the_table_has_its_section_and_no_other() -> None:
    sections = [s for s in parsed(gen_supervisord.render()).sections() if ":" in s]
    programs = [s.partition(":")[2] for s in sections if not s.startswith("rpcinterface")]
    assert programs == [service.program for service in SERVICES]


@pytest.mark.parametrize("service", SERVICES, ids=lambda s: s.program)
def test_a_program_is_started_stopped_and_ranked_as_declared(service: Service) -> None:
    options = options_of(service)
    words = ['"%(here)s/../.venv/bin/python"', "-m", service.module, *service.args]
    assert options["command"] == " ".join(words)
    assert options["directory"] == "%(here)s/.."
    assert options["autostart"] == ("true" if service.autostart else "false")
    assert (options["autorestart"], options["exitcodes"]) == ("unexpected", "0,78")
    assert options["startsecs"] == "0"
    assert int(options["stopwaitsecs"]) == service.stop_wait_s
    assert int(options["priority"]) == service.stop_rank


@pytest.mark.parametrize("service", SERVICES, ids=lambda s: s.program)
def test_every_log_is_named_bounded_and_kept_in_the_run_directory(service: Service) -> None:
    options = options_of(service)
    silent = service.kind == "listener" or not service.stdout_log
    channel = "stderr" if silent else "stdout"
    assert options[f"{channel}_logfile"] == f"%(here)s/../run/{service.program}.log"
    assert options[f"{channel}_logfile_maxbytes"] == "1MB"
    assert options[f"{channel}_logfile_backups"] == "3"
    assert options.get("redirect_stderr", "false") == ("false" if silent else "true")
    assert options.get("stdout_logfile") == (
        "NONE" if silent else f"%(here)s/../run/{service.program}.log"
    )


def test_arms_stop_before_everything_they_listen_to_and_the_pulse_stops_last() -> None:
    ranks = {service.program: service.stop_rank for service in SERVICES}
    arms = {rank for program, rank in ranks.items() if "arm-" in program}
    others = {rank for program, rank in ranks.items() if "arm-" not in program}
    assert min(arms) > max(others)
    assert ranks["pulse"] == min(ranks.values())


def test_only_the_listener_subscribes_and_to_deaths_as_well_as_failed_starts() -> None:
    for service in SERVICES:
        events = options_of(service).get("events")
        assert (events is not None) == (service.kind == "listener")
        if events is not None:
            assert set(events.split(",")) >= {"PROCESS_STATE_EXITED", "PROCESS_STATE_FATAL"}


def test_rendering_is_deterministic() -> None:
    assert gen_supervisord.render() == gen_supervisord.render()


def test_check_writes_nothing_and_tells_an_outdated_or_missing_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "supervisord.conf"
    assert gen_supervisord.main(["--check"], conf) == 1
    assert not conf.exists()
    assert "python -m tools.gen_supervisord" in capsys.readouterr().err
    assert gen_supervisord.main([], conf) == 0
    assert gen_supervisord.main(["--check"], conf) == 0
    conf.write_text(conf.read_text() + "\n[inet_http_server]\nport=9001\n")
    assert gen_supervisord.main(["--check"], conf) == 1
