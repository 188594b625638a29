#!/bin/sh
# MPI programs through trace, signature and predict: how far predictions are off, and what part of a run they take.
#   predictions.sh [build] [--only NAME]... [--seconds S]... [--runs N] [--write]      --help has the others
set -eu
cd "$(dirname "$0")/../.."
exec python3 -m benchmarks.realworld.predictions "$@"
