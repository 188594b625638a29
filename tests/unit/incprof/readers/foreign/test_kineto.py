"""Traces of PyTorch: operators, kernels on devices, marks, and functions of Python."""

import gzip
import json

import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run
from incprof.report.words.display_names import short
from incprof.systems.gpu.read import read_gpu
from tests.unit.imports import bring, paths, put, seconds

HOST, SPANS = 4242, "Spans"


def slice_of(category, name, begin_ms, lasts_ms, pid=HOST, tid=HOST, **args):
    return {
        "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": 1e15 + 1000 * begin_ms,
        "dur": 1000 * lasts_ms, "args": args,
    }  # fmt: skip


def step(number, begin_ms):
    """A step of 100 ms, whose kernels run for 60 of them on device 0."""
    yield slice_of("user_annotation", f"ProfilerStep#{number}", begin_ms, 100)
    yield slice_of("gpu_user_annotation", f"ProfilerStep#{number}", begin_ms, 100, 0, 7)
    yield slice_of("cpu_op", "aten::linear", begin_ms, 40)
    yield slice_of("cuda_runtime", "cudaLaunchKernel", begin_ms, 10, correlation=number)
    yield slice_of("kernel", "void gemm<float>(int)", begin_ms + 10, 60, 0, 7, device=0, stream=7, correlation=number)
    yield slice_of("user_annotation", "Optimizer.step#SGD.step", begin_ms + 40, 50)
    yield slice_of("cpu_op", "aten::add_", begin_ms + 40, 30)


def trace(*more):
    names = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "python"}} for pid in (HOST, 0)]
    span = slice_of("Trace", "PyTorch Profiler (0)", 0, 1000, SPANS, "PyTorch Profiler")
    steps = [event for number in range(10) for event in step(number, 100 * number)]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [*names, span, *steps, *more]}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_devices_and_marks(pack, tmp_path, capsys):
    profile = bring(tmp_path, put(tmp_path / "t.pt.trace.json", pack(json.dumps(trace()).encode())))
    assert paths(profile) == {
        "[ProfilerStep]": 0.1,
        "[ProfilerStep];aten::linear": 0.3,
        "[ProfilerStep];aten::linear;cudaLaunchKernel": 0.1,
        "[ProfilerStep];[Optimizer.step#SGD.step]": 0.2,
        "[ProfilerStep];[Optimizer.step#SGD.step];aten::add_": 0.3,
        "[GPU 0] void gemm<float>(int)": 0.6,
    }
    assert not any(f.is_code for f in profile.functions if f.name[0] == "[")
    assert [(each.rank, each.pid) for each in open_run(tmp_path / "run").processes] == [(0, None)]
    assert sorted(set(profile.samples.thread.tolist())) == [0, 1]
    assert profile.metadata.app == "python"
    assert "ran on devices, 1 streams" in capsys.readouterr().err


def test_steps_without_categories_are_one_mark(tmp_path):
    """As PyTorch without Kineto writes them."""
    slices = [
        {"name": name, "ph": "X", "ts": 100_000 * number, "dur": lasts, "tid": 1, "pid": "CPU functions", "args": {}}
        for number in range(4)
        for name, lasts in ((f"ProfilerStep#{number + 2}", 90_000), ("aten::mm", 60_000))
    ]
    profile = bring(tmp_path, put(tmp_path / "t.json", json.dumps(slices).encode()))
    assert paths(profile) == pytest.approx({"[ProfilerStep]": 0.12, "[ProfilerStep];aten::mm": 0.24}, abs=0.01)


def test_marks_and_kernels_are_no_sites(tmp_path, capsys):
    events = [event for number in range(100) for event in step(number, 100 * number)]
    bring(tmp_path, put(tmp_path / "t.json", {"traceEvents": events}))
    capsys.readouterr()
    assert main(["phases", str(tmp_path / "run"), "--json"]) == 0
    (phase,) = json.loads(capsys.readouterr().out)["phases"]
    assert phase["functions"][0]["name"] == "[GPU 0] void gemm<float>(int)"
    assert {site["function"] for site in phase["sites"]} <= {"aten::linear", "aten::add_"}
    assert short("[GPU 0] void gemm<float>(int)") == "[GPU 0] gemm"


def test_functions_of_python(tmp_path):
    """What they call of PyTorch's is a library's, as in a recording."""
    calls = [slice_of("python_function", "train.py(10): <module>", 0, 1000),
             slice_of("python_function", "train.py(3): step", 0, 1000),
             slice_of("python_function", "nn.Module: Linear_0", 0, 1000),
             slice_of("python_function", "torch/nn/modules/module.py(1500): _call_impl", 0, 1000),
             slice_of("python_function", "<built-in method linear of type object at 0x7f01>", 0, 40)]  # fmt: skip
    found = trace(*calls)
    found["traceEvents"] = [event for event in found["traceEvents"] if event.get("cat") != "user_annotation"]
    profile = bring(tmp_path, put(tmp_path / "t.json", found))
    own = {f.name for f in profile.functions if not f.imported}
    assert own == {"<module>", "step", "[GPU 0] void gemm<float>(int)"}
    assert sum(seconds(profile).values()) == pytest.approx(1.6)


def test_kernels_alone(tmp_path):
    events = [
        slice_of("kernel", "k", 0, 50, 1, 20, device=1, stream=20),
        slice_of("kernel", "broken", 0, 9, device="x"),
    ]
    found = bring(tmp_path, put(tmp_path / "t.json", events[:1]))
    assert paths(found) == {"[GPU 1] k": 0.05}


def copy_of(begin_ms, name="Memcpy HtoD (Pageable -> Device)", **args):
    more = {"device": 0, "stream": 13, "bytes": 1000, "correlation": 5000, **args}
    return slice_of("gpu_memcpy", name, begin_ms, 20, 0, 13, **more)


def test_device_work_is_that_of_a_recording(tmp_path, capsys):
    events = [event for number in range(30) for event in step(number, 100 * number)]
    events += [slice_of("cuda_runtime", "cudaMemcpyAsync", 2945, 1, correlation=5000), copy_of(2960)]
    events += [slice_of("cuda_runtime", "cudaDeviceSynchronize", 2990, 10)]
    document = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events}
    bring(tmp_path, put(tmp_path / "t.json", document), "-i", "0.5s")
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found.damaged == 0
    assert found.missing == 0
    assert found.totals.launches == found.totals.kernels == found.kernels.count.sum() == 30
    assert found.kernels.seconds.sum() == pytest.approx(1.8, rel=1e-9)
    assert found.devices == {0: "NVIDIA H200"}
    assert found.synchronisations.seconds.sum() == pytest.approx(0.01, rel=1e-6)
    busy = {int(stream): found.streams.seconds[found.streams.what == stream].sum() for stream in found.streams.what}
    assert busy == {7: pytest.approx(1.8), 13: pytest.approx(0.02)}
    # The copy lies within a kernel.
    assert found.busy.seconds[found.busy.device == 0].sum() == pytest.approx(1.81, abs=1e-5)
    capsys.readouterr()
    assert main(["phases", str(tmp_path / "run"), "--card", "--json"]) == 0
    cards = [phase["card"]["device"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    kernels = [kernel for card in cards for kernel in card["kernels"]]
    assert {kernel["name"] for kernel in kernels} == {"void gemm<float>(int)"}
    assert {tuple(kernel["path"]) for kernel in kernels} == {("[ProfilerStep]", "aten::linear")}
    copies = [copy for card in cards for copy in card["copies"]]
    assert [(copy["direction"], copy["bytes"]) for copy in copies] == [("host to device", 1000)]
    # It is called in no operator, but within the optimizer's mark.
    assert copies[0]["paths"][0]["path"][0] == "[ProfilerStep]"


def test_launches_without_kernels_are_missing(tmp_path):
    events = [slice_of("cuda_runtime", "cudaLaunchKernel", at, 1, correlation=at) for at in range(1, 11)]
    events += [slice_of("kernel", "k", at, 1, 0, 7, device=0, stream=7, correlation=at) for at in range(1, 8)]
    events += [slice_of("cuda_runtime", "cudaGraphLaunch", 20, 1, correlation=20)]
    events += [slice_of("kernel", "k", 20 + at, 1, 0, 7, device=0, stream=7, correlation=20) for at in range(5)]
    bring(tmp_path, put(tmp_path / "t.json", {"traceEvents": events}), "-i", "5ms")
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert (found.missing, found.totals.graph_kernels, found.totals.graph_launches) == (3, 5, 1)
    assert found.kernels.count.sum() == 12


def backward_of(number, begin_ms, end="f"):
    """The backward half of a step, on a thread of autograd's that launches a kernel of 20 ms."""
    yield slice_of("user_annotation", f"ProfilerStep#{number}", begin_ms, 100)
    yield slice_of("python_function", "train.py(12): train", begin_ms, 99)
    yield slice_of("cpu_op", "aten::mm", begin_ms, 10)
    yield {**slice_of("fwdbwd", "fwdbwd", begin_ms + 1, 0), "ph": "s", "id": number}
    yield {**slice_of("fwdbwd", "fwdbwd", begin_ms + 50, 0, tid=99), "ph": end, "id": number}
    yield slice_of("cpu_op", "MmBackward0", begin_ms + 50, 20, tid=99)
    yield slice_of("cuda_runtime", "cudaLaunchKernel", begin_ms + 55, 2, tid=99, correlation=100 + number)
    yield slice_of("kernel", "gemm_grad", begin_ms + 60, 20, 0, 7, device=0, stream=7, correlation=100 + number)


def launching_paths(run, capsys):
    capsys.readouterr()
    assert main(["phases", str(run), "--card", "--json"]) == 0
    cards = [phase["card"]["device"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    return {(kernel["name"], tuple(kernel["path"])) for card in cards for kernel in card["kernels"]}


def test_kernels_of_autograds_threads_belong_to_the_step(tmp_path, capsys):
    events = [event for number in range(20) for event in backward_of(number, 100 * number)]
    bring(tmp_path, put(tmp_path / "t.json", {"traceEvents": events}), "-i", "0.5s")
    paths_of = launching_paths(tmp_path / "run", capsys)
    assert paths_of == {("gemm_grad", ("[ProfilerStep]", "train"))}
    # Without the arrows, the gradients have no known owner.
    events = [event for number in range(20) for event in backward_of(number, 100 * number, end="s")]
    bring(tmp_path, put(tmp_path / "u.json", {"traceEvents": events}), "-i", "0.5s", name="apart")
    assert launching_paths(tmp_path / "apart", capsys) == {("gemm_grad", ())}


@pytest.mark.parametrize(
    "args", [{"bytes": "many"}, {"correlation": []}, {"device": -5}, {"stream": 2**70}, {"device": None}, {"bytes": -9}]
)
def test_damaged_device_work(tmp_path, args, capsys):
    events = [event for number in range(5) for event in step(number, 100 * number)]
    file = put(tmp_path / "t.json", {"traceEvents": [*events, copy_of(10, **args)]})
    assert main(["import", str(file), "-o", str(tmp_path / "run"), "-i", "0.1s"]) in (0, 5)
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found.kernels.count.sum() == 5
    assert found.damaged == 0
    assert len(capsys.readouterr().err.splitlines()) <= 2
