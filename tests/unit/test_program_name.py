"""What programs are called: as they were started, by their scripts."""

import pytest

from incprof.readers import open_run
from incprof.readers.stream.program_name import program_name
from tests.unit.profiles import two_phase_run


@pytest.mark.parametrize(
    ("exe", "argv", "name"),
    [
        ("/usr/bin/redis-check-rdb", ["/usr/bin/redis-server *:6379"], "redis-server"),
        ("/usr/bin/libgvc6-config-update", ["dot", "-Tsvg", "a.dot"], "dot"),
        ("/usr/sbin/nginx", ["nginx: master process /usr/sbin/nginx -g daemon off;"], "nginx"),
        ("/usr/lib/postgresql/15/bin/postgres", ["postgres: 15/main: checkpointer "], "postgres"),
        ("/home/me/my app/solve", ["/home/me/my app/solve", "-n", "3"], "solve"),
        ("/usr/bin/bash", ["-bash"], "bash"), ("/usr/bin/bash", ["bash", "job.sh", "3"], "job.sh"),
        ("/usr/bin/bash", ["bash", "-c", "true"], "bash"),
        ("/opt/x/solve", [], "solve"), ("/opt/x/solve", [""], "solve"),
        ("/usr/bin/python3.11", ["python3", "app.py", "250000"], "app.py"),
        ("/usr/bin/python3.11", ["python3", "-u", "-X", "dev", "-W", "ignore", "src/app.py"], "app.py"),
        ("/usr/bin/python3.11", ["python3", "-m", "mesh.run", "-n", "3"], "mesh.run"),
        ("/usr/bin/python3.11", ["python3", "-um", "mesh"], "mesh"),
        ("/usr/bin/python3.11", ["python3", "mesh/__main__.py"], "mesh"),
        ("/usr/bin/python3.11", ["/usr/bin/python3", "/usr/bin/pytest", "-q"], "pytest"),
        ("/usr/bin/python3.11", ["python3", "-c", "print(1)"], "python3"), ("/usr/bin/python3.13t", ["x", "-"], "x"),
        ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", ["/lib64/ld-linux-x86-64.so.2", "./solve", "3"], "solve"),
        ("/lib/ld-2.31.so", ["ld.so", "--library-path", "/opt/lib", "--inhibit-cache", "bin/solve"], "solve"),
        ("/usr/lib/R/bin/exec/R", ["/usr/lib/R/bin/exec/R", "--no-echo", "--file=fit.R"], "fit.R"),
        ("/usr/bin/node", ["node", "--prof", "app.js"], "node"), ("/usr/bin/node", ["node", "lib/app.js"], "app.js"),
    ],
)  # fmt: skip
def test_names(exe: str, argv: list[str], name: str) -> None:
    assert program_name(exe, argv) == name


@pytest.mark.parametrize(("app", "name"), [("redis-check-rdb", "redis-server"), ("chosen", "chosen")])
def test_runs_are_called_so(tmp_path, app: str, name: str) -> None:
    run = two_phase_run(tmp_path, app=app, exe="/usr/bin/redis-check-rdb", argv=["/usr/bin/redis-server", "x.conf"])
    assert open_run(run).app == name
