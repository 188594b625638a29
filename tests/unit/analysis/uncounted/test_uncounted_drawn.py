"""Calls within loops, of drawn programs: each sample's stack is examined by itself, as in the definition."""

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.uncounted import sampled_calls
from incprof.analysis.uncounted.sampled_calls import frames_of, neighbours
from tests.unit import drawn


class Stacks:
    """The path nodes of a profile as stacks of frames, and each frame's chain: functions, outermost first."""

    def __init__(self, profile):
        self.profile = profile
        self.inlined = {} if profile.inlined is None else profile.inlined.by_node()
        parent = profile.paths.parent.tolist()
        self.nodes, self.filtered, self.chain = [()], [()], [()]
        for node in range(1, len(parent)):
            above = parent[node]
            filtered, chain = self.filtered[above], self.chain[above]
            for function in (int(profile.paths.function[node]), *self.inlined.get(node, ())):
                if self.is_library(function) and any(f >= 0 and not self.is_library(f) for f in filtered):
                    continue
                filtered += (function,)
                known = function >= 0 and function in chain
                chain = chain[: chain.index(function) + 1] if known else (*chain, function)
            self.nodes.append((*self.nodes[above], node))
            self.filtered.append(filtered)
            self.chain.append(chain)

    def is_library(self, function):
        return function >= 0 and self.profile.functions[function].is_library

    def own(self, node):
        """The chain of the frame's function, without what is inlined there."""
        chain, function = self.chain[node], int(self.profile.paths.function[node])
        return chain[: len(chain) - chain[::-1].index(function)] if function in chain else ()

    def reached(self, node):
        """The chain right below the caller's."""
        above = self.chain[int(self.profile.paths.parent[node])]
        chain = self.chain[node]
        return chain[: len(above) + 1] if len(chain) > len(above) and chain[: len(above)] == above else ()


def loops_around(loops, loop):
    while loop > 0:
        yield loop
        loop = int(loops.around[loop])


def called_again(profile, stacks):
    """By chain and loop: calls seen while the loop went on, samples inside of them, and in the loop of their caller."""
    loops, samples = profile.code_loops, profile.samples
    at, function = loops.at.tolist(), profile.paths.function.tolist()
    times, inside, around, owner = Counter(), Counter(), Counter(), {}
    for first, second in zip(*neighbours(profile), strict=True):
        stack, then = stacks.nodes[int(samples.node[first])], stacks.nodes[int(samples.node[second])]
        for caller, callee in pairwise(then):
            if at[caller] > 0 and stacks.reached(callee):
                inside[stacks.reached(callee), at[caller]] += 1
                owner[stacks.reached(callee), at[caller]] = stacks.own(caller)
        for node in then:
            around.update((stacks.own(node), loop) for loop in loops_around(loops, at[node]))
        shared = sum(1 for i in range(min(len(stack), len(then))) if stack[: i + 1] == then[: i + 1])
        before, rest = stack[shared : shared + 1], then[shared:]
        caller = then[shared - 1] if shared else 0
        if before and rest and function[rest[0]] >= 0 and function[before[0]] == function[rest[0]]:
            if at[rest[0]] not in loops_around(loops, at[before[0]]):
                continue
            caller, rest = rest[0], rest[1:]
        if stack != then and rest and at[caller] > 0 and stacks.reached(rest[0]):
            times[stacks.reached(rest[0]), at[caller]] += 1
    return times, inside, Counter({key: around[owner[key], key[1]] for key in inside})


def chains_as_functions(chains):
    out = [()]
    for parent, function in list(zip(chains.parent.tolist(), chains.function.tolist(), strict=True))[1:]:
        out.append((*out[parent], function))
    return out


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_frames_and_calls_of_loops_are_those_of_each_stack(seed):
    profile = drawn.profile(Random(seed))
    stacks = Stacks(profile)
    chains, _ = profile.own_tree.without_recursion()
    functions = chains_as_functions(chains)
    own, reached = frames_of(profile, chains)
    for node in range(1, len(own)):
        assert functions[chains.of_node[node]] == stacks.chain[node]
        assert functions[own[node]] == stacks.own(node)
        assert functions[reached[node]] == stacks.reached(node)
    if profile.code_loops is not None:
        asked, then = neighbours(profile)
        path = sampled_calls._Paths.of(profile, chains, profile.code_loops, then)
        node = profile.samples.node.astype(np.int64)
        found = sampled_calls._repeats_in_loops(path, sampled_calls._Pairs.of(path, node[asked], node[then]))
        times, inside, around = called_again(profile, stacks)
        met = [key for key, number in found.inside.items() if number]
        for kept, expected in ((found.times, times), (found.inside, inside), (found.around, around)):
            assert {(functions[chain], loop): kept.get((chain, loop), 0) for chain, loop in met} == {
                key: expected[key] for key in inside
            }
