"""What an import makes of an input, and what a profile has, for tests."""

import json

import numpy as np

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import varint


def bring(tmp_path, inputs, *words, name="run"):
    """The profile that an import makes."""
    inputs = inputs if isinstance(inputs, list) else [inputs]
    assert main(["import", *map(str, inputs), "-o", str(tmp_path / name), *words]) == 0
    return read_profile(open_run(tmp_path / name), libs="named", inlined=True)


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def seconds(profile):
    own = np.asarray(profile.self_s.sum(axis=0)).ravel().tolist()
    return {f.name: round(s, 6) for f, s in zip(profile.functions, own, strict=True) if s}


def paths(profile):
    """Seconds by stack, the innermost functions last."""
    found = {}
    for node, weight in zip(profile.samples.node.tolist(), profile.samples.weight.tolist(), strict=True):
        names = []
        while node:
            names.append(profile.functions[profile.paths.function[node]].name)
            node = int(profile.paths.parent[node])
        key = ";".join(reversed(names))
        found[key] = round(found.get(key, 0.0) + weight / profile.metadata.rate_hz, 6)
    return found


def message(*pairs):
    """A protocol buffer: numbers, bytes, or rows of numbers, by field."""
    out = b""
    for number, value in pairs:
        if isinstance(value, list):
            value = b"".join(map(varint, value))
        kind = 0 if isinstance(value, int) else 2
        out += varint(number << 3 | kind) + (varint(value) if kind == 0 else varint(len(value)) + value)
    return out
