"""Find the phases of a recorded run, and the functions and loops to instrument for each.

    incprof phases gmon-app

Several ranks have the same phases; intervals and seconds are those of one rank,
the lowest unless --rank is given. --rank R --ranks R analyses rank R alone.
`incprof help phases` explains the output.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.cli.systems import card_parts, sections_of
from incprof.command.helping import expert_flags
from incprof.command.options import (
    add_counters_argument,
    add_phase_arguments,
    add_run_arguments,
    check_phase_arguments,
    exit_status,
    study_of,
)
from incprof.command.output import add_plot_argument, check_plot
from incprof.command.output import write_plot as draw_plot
from incprof.command.terminal import text_width, wants_colour, warn
from incprof.errors import UsageError

if TYPE_CHECKING:
    from incprof.model.section import CardPart, Section
    from incprof.study import Study

NAME = "phases"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser)
    add_phase_arguments(parser)
    parser.add_argument("--details", action="store_true", help="functions and steps of each phase, ranks")
    parser.add_argument("--card", action="store_true", help="what each phase uses and waits for, as far as recorded")
    parser.add_argument("--explain", action="store_true", help="why these phases and sites: evidence and runners-up")
    add_counters_argument(parser)
    parser.add_argument(
        "--threads", action="store_true", help="roles of the threads, and which differ from their peers"
    )
    add_plot_argument(parser, "self time and phases over time")
    parser.add_argument("--per-rank", action="store_true", help="a row for each rank")
    parser.add_argument("--force", action="store_true", help="with --plot: replace FILE if it exists")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--brief", action="store_true", help="to paste: head, ribbon, a line for each phase; 80 columns")
    form.add_argument("--json", action="store_true", help="one JSON object, schema incprof.phases/1")
    form.add_argument("--csv", action="store_true", help="one row per interval; with --card per phase")
    expert_flags(parser, "--k", "--threads", "--per-rank", "--force", "--brief")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print."""
    check_phase_arguments(args)
    check_plot(args)
    check_form(args)
    study = study_of(args)
    warn(study.phases().warnings)
    if args.plot is not None:
        plot(study, args)
    sections = [section for of_system in sections_of(study, args) for section in of_system(None)]
    write(study, args, sections, card_parts(study, args.counters, None) if args.card else None)
    return exit_status(study)


def check_form(args: argparse.Namespace) -> None:
    """Reject additions to the answer that its form does not support.

    Raises:
        UsageError: the line names the option to leave out.
    """
    form = "--csv" if args.csv else "--brief" if args.brief else None
    added = {"--counters": args.counters is not None and not (args.csv and args.card), "--threads": args.threads}
    if args.brief:
        added |= {
            "--card": args.card,
            "--details": args.details,
            "--explain": args.explain,
            "--per-rank": args.per_rank,
        }
    extra = next((option for option, is_set in added.items() if is_set), None)
    if form is not None and extra is not None:
        raise UsageError(f"{extra}: {form} cannot show it: leave out one of them")


def plot(study: Study, args: argparse.Namespace) -> None:
    """Draw the requested plot."""
    from incprof.report.plots import BINS, FUNCTIONS, write_plot
    from incprof.study.views import over_time

    bins, series, names = over_time(study, BINS, len(FUNCTIONS))
    summary, result = study.summary, study.phases()
    draw_plot(args, lambda out, form: write_plot(summary, result, names, bins, series, out, form))


def write(study: Study, args: argparse.Namespace, sections: list[Section], parts: list[CardPart] | None = None) -> None:
    """Print the answer in the requested form. parts: of the cards of phases; None if they were not requested."""
    from incprof.report.card_answer import card_section, cards_json
    from incprof.study.sites.store import FOUND
    from incprof.study.views import threads_of

    summary, result = study.summary, study.as_placed(study.phases(), FOUND)
    if args.csv and parts is not None:
        from incprof.report.exports import write_csv

        write_csv(card_section(result, parts, study.ranks).tables[0], sys.stdout)
        return
    if args.csv:
        from incprof.report.exports import write_phases_csv

        write_phases_csv(result, sys.stdout)
        return
    if args.brief:
        from incprof.report.text.phases_text import write_brief

        write_brief(summary, result, sys.stdout, study.suspensions)
        return
    why = study.explain() if args.explain else None
    roles = threads_of(study) if args.threads else None
    if args.json:
        from incprof.report.json.phases_json import programs_dict, threads_dict, write_json

        explanation = None
        if why is not None:
            from incprof.report.json.phases_json import explain_dict

            explanation = explain_dict(study.phases().model, why)
        threads = None if roles is None else threads_dict(roles)
        programs = programs_dict(study.run)
        write_json(
            summary, result, sys.stdout, ranks=study.ranks, sections=sections, programs=programs, explain=explanation,
            threads=threads, cards=None if parts is None else cards_json(result, parts, study.ranks),
        )  # fmt: skip
    else:
        from incprof.report.text.phases_text import write_text

        write_text(
            summary, result, sys.stdout, width=text_width(), colour=wants_colour(), budget_pct=args.overhead,
            ranks=study.ranks, per_rank=args.per_rank, job=study.run, used=study.used,
            details=args.details, suspensions=study.suspensions,
        )  # fmt: skip
        if parts is not None:
            sections = [card_section(result, parts, study.ranks), *sections]
        if sections:
            from incprof.report.render.text import write_sections

            write_sections(sections, sys.stdout, width=text_width(), colour=wants_colour())
        if why is not None:
            from incprof.report.text.site_text import write_explanation

            write_explanation(study.phases().model, why, sys.stdout, width=text_width(), ranks=study.ranks)
        if roles is not None:
            from incprof.report.text.rank_text import write_threads

            write_threads(roles, result, sys.stdout, width=text_width(), colour=wants_colour())
