"""What a script of beats must be recorded as: the semantics of docs/use/appekg.md, as plain as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Script = list[str]
START_NS = 1000  # of the fake clock


@dataclass(frozen=True)
class Row:
    """A row of the file, by its columns' names."""

    interval: int
    thread: int
    id: int
    count: int = 0
    pulses: int = 0
    sum_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    sumsq_ns2: int = 0
    nested_ns: int = 0
    open: int = 0
    open_ns: int = 0
    executions: int = 0


@dataclass
class Slot:
    """A thread's beats of one id."""

    starts: list[int] = field(default_factory=list)  # of open beats that are recorded, the oldest first
    left: int = 0  # outermost beats to be skipped before the next one that is recorded
    skipped: int = 0  # open beats that are skipped
    missed: int = 0  # outermost beats, and pulses by themselves, skipped since the last one that was recorded
    before: int = 0  # such in this interval, each before one that was recorded
    inner: int = 0  # recorded in this interval within a beat of the id
    emptied: bool = False  # another thread has ended the outermost one: the thread learns it by its next call
    durations: list[int] = field(default_factory=list)  # that ended in this interval
    nested: int = 0
    pulses: int = 0

    def end_turn(self, skip: int) -> None:
        """An outermost beat, or a pulse by itself, has been recorded: so many more are skipped."""
        self.before, self.missed, self.left = self.before + self.missed, 0, skip

    def executions(self) -> int:
        """Beats and pulses of this interval, the skipped ones too: as many in each of those as in a recorded one."""
        recorded = len(self.durations) + self.pulses
        turns = recorded - self.inner
        return recorded + (int(recorded * self.before / turns + 0.5) if turns > 0 else 0)

    def forget(self) -> None:
        """Recording is switched off, or on."""
        self.starts, self.left, self.skipped, self.emptied = [], 0, 0, False


@dataclass
class Thread:
    """A thread with a record; `number` in order of first beat."""

    number: int
    slots: dict[int, Slot] = field(default_factory=dict)
    has_ended: bool = False


@dataclass
class Model:
    """A process. Time stands still unless it is advanced."""

    now: int = START_NS
    on: bool = True
    is_started: bool = False
    start: int = 0
    begin: int = 0
    factors: dict[int, int] = field(default_factory=dict)
    default_factor: int = 1
    records: list[Thread] = field(default_factory=list)
    threads: dict[int, Thread] = field(default_factory=dict)  # by their number in the script
    numbers: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    rows: list[Row] = field(default_factory=list)
    intervals: list[dict[str, int]] = field(default_factory=list)

    def run(self, script: Iterable[str]) -> Model:
        """Do what the lines say, and end."""
        for line in script:
            word, *arguments = line.split()
            numbers = [int(argument) for argument in arguments]
            times = numbers.pop() if len(numbers) == 3 else 1
            for _ in range(times):
                getattr(self, f"do_{word}")(*numbers)
        if self.is_started:
            self.do_interval()
        self.rows.sort(key=lambda row: (row.interval, row.thread, row.id))
        return self

    def _slot(self, thread: int, key: int) -> Slot | None:
        """The slot for an edge; None while recording is off."""
        if not self.on:
            return None
        if not self.is_started:
            self.is_started, self.start, self.begin = True, self.now, self.now
        if thread not in self.threads:
            self.threads[thread] = Thread(self.numbers)
            self.records.append(self.threads[thread])
            self.numbers += 1
        slot = self.threads[thread].slots.setdefault(key, Slot())
        if slot.emptied:
            slot.left, slot.emptied = self._skip(key), False
        slot.left = min(slot.left, self._skip(key))
        return slot

    def _skip(self, key: int) -> int:
        return self.factors.get(key, self.default_factor) - 1

    def do_begin(self, thread: int, key: int) -> None:
        """A beat is skipped with all that is nested in it, or recorded with all that is nested in it."""
        slot = self._slot(thread, key)
        if slot is None:
            return
        if slot.skipped:
            slot.skipped += 1
        elif slot.left and not slot.starts:
            slot.left -= 1
            slot.missed += 1
            slot.skipped = 1
        else:
            slot.starts.append(self.now)

    def do_end(self, thread: int, key: int) -> None:
        """The innermost own one; else the oldest of another thread."""
        slot = self._slot(thread, key)
        if slot is None:
            return
        if slot.skipped:
            slot.skipped -= 1
        elif slot.starts:
            duration = self.now - slot.starts.pop()
            slot.durations.append(duration)
            if slot.starts:
                slot.nested += duration
                slot.inner += 1
            else:
                slot.end_turn(self._skip(key))
        else:
            self._end_elsewhere(slot, key)

    def _end_elsewhere(self, slot: Slot, key: int) -> None:
        others = [t.slots[key] for t in self.records if not t.has_ended and key in t.slots]
        recorded = [other for other in others if other.starts]
        skipped = [other for other in others if other.skipped]
        if recorded:
            oldest = min(recorded, key=lambda other: other.starts[0])
            slot.durations.append(self.now - oldest.starts.pop(0))
            oldest.emptied = not oldest.starts
        elif skipped:
            skipped[0].skipped -= 1
        else:
            self.counters["unmatched"] += 1

    def do_pulse(self, thread: int, key: int) -> None:
        """A pulse by itself takes its turn with the beats; within a beat it is recorded if the beat is."""
        slot = self._slot(thread, key)
        if slot is None or slot.skipped:
            return
        if slot.left and not slot.starts:
            slot.left -= 1
            slot.missed += 1
            return
        slot.pulses += 1
        if slot.starts:
            slot.inner += 1
        else:
            slot.end_turn(self._skip(key))

    def do_rate(self, key: int, factor: int) -> None:
        """A lower factor holds from the thread's next call on, a higher one from its next recorded beat on."""
        self.factors[key] = max(factor, 1)

    def do_name(self, *_: int) -> None:
        """Names change nothing here."""

    def do_disable(self) -> None:
        """Open beats are forgotten."""
        self.on = False
        self._forget()

    def do_enable(self) -> None:
        """Nothing if it is on."""
        if not self.on:
            self.on = True
            self._forget()

    def _forget(self) -> None:
        for thread in self.records:
            for slot in thread.slots.values():
                slot.forget()

    def do_advance(self, ns: int) -> None:
        """Let time pass."""
        self.now += ns

    def do_leave(self, thread: int) -> None:
        """End a thread."""
        gone = self.threads.pop(thread, None)
        if gone is not None:
            gone.has_ended = True

    def do_interval(self) -> None:
        """Write rows and counters."""
        number = len(self.intervals)
        for thread in self.records:
            for key, slot in thread.slots.items():
                self.counters["abandoned"] += len(slot.starts) if thread.has_ended else 0
                self._take(number, thread, key, slot)
        self.intervals.append(
            {
                "interval": number,
                "start_ns": self.begin - self.start,
                "end_ns": self.now - self.start,
                "threads": len(self.records),
                "dropped": self.counters["dropped"],
                "unmatched": self.counters["unmatched"],
                "abandoned": self.counters["abandoned"],
                "enabled": self.on,
            }
        )
        self.records = [thread for thread in self.records if not thread.has_ended]
        self.counters.clear()
        self.begin = self.now

    def _take(self, number: int, thread: Thread, key: int, slot: Slot) -> None:
        done, still = slot.durations, [] if thread.has_ended else slot.starts
        if still and still[0] == self.now:  # what begins with the boundary belongs to the next interval
            still = []
        if done or slot.pulses or still:
            self.rows.append(
                Row(
                    interval=number,
                    thread=thread.number,
                    id=key,
                    count=len(done),
                    pulses=slot.pulses,
                    sum_ns=sum(done),
                    min_ns=min(done, default=0),
                    max_ns=max(done, default=0),
                    sumsq_ns2=sum(duration * duration for duration in done),
                    nested_ns=slot.nested,
                    open=len(still),
                    open_ns=self.now - still[0] if still else 0,
                    executions=slot.executions(),
                )
            )
        slot.durations, slot.nested, slot.pulses, slot.before, slot.inner = [], 0, 0, 0, 0
