"""Files with names that somebody else has chosen, and names in what they hold."""

from __future__ import annotations

import random
from pathlib import PurePosixPath

from soak.mutate_json import HOSTILE_TEXTS, mutate_json_text
from soak.mutate_stream import METADATA, MODULES, images
from soak.subject import Tree

LONGEST = 200
NUMBERS = ("0", "00000", "99999", "00001", "-1", "4294967296", "18446744073709551616", "1e3", "\u0663", "")
RUN_NAMES = ("rank-{}.gmon", "rank-{}.4711.gmon", "rank-00000.{}.gmon", "gmon-{}.0", "gmon-0.{}", "gmon.out.{}",
             "launch{}", "symbols/{}.elf", "symbols/{}.json", "symbols/path-{}.elf", "{}",
             "rank-00000.4711-{}.gmon")  # fmt: skip


def file_name(dice: random.Random) -> str:
    """A name for a file of a run that a file system takes."""
    text = dice.choice((*HOSTILE_TEXTS, *NUMBERS))
    text = dice.choice(RUN_NAMES).format(text).replace("\0", "\x01").encode("utf-8", "replace").decode()
    parts = [part for part in text.split("/")[-2:] if part not in ("", ".", "..")]
    return "/".join(part[: LONGEST // 4] for part in parts) or "x"


def rename(dice: random.Random, tree: Tree) -> Tree:
    """Other names of files, or of what a stream tells of."""
    if dice.random() < 0.5:
        path = dice.choice([path for path in tree if path.endswith(".gmon")])
        found = images(tree[path])
        out = b""
        for image in found:
            named = image.kind in (METADATA, MODULES)
            payload = mutate_json_text(dice, image.payload, ()) if named else image.payload
            out += type(image)(image.kind, payload, image.module, image.interval).encoded()
        return {**tree, path: out}
    out_tree = dict(tree)
    for _ in range(dice.choice((1, 2, 5))):
        path = dice.choice(list(out_tree))
        new = str(PurePosixPath("run") / file_name(dice))
        if any(other.startswith(f"{new}/") or new.startswith(f"{other}/") for other in out_tree):
            continue
        out_tree[new] = out_tree[path] if dice.random() < 0.5 else out_tree.pop(path)
    return out_tree
