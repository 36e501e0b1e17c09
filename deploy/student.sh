#!/bin/sh
# A student's own server, run as that student: limits first, then a copy of the course on the first day, then Jupyter.
set -eu
bin=$(cd "$(dirname "$0")/../venv/bin" && pwd)
# Each process alone: the hub's mem_limit counts all of a student together, where the spawner can (systemd, containers).
ulimit -v "${BERTLOOK_STUDENT_KB:-6000000}" 2>/dev/null || true
ulimit -c 0
cd "$HOME"
if [ ! -e course ]; then
    "$bin/python" -m bertlook_bench course course || echo "the course could not be copied; see above" >&2
fi
PATH="$bin:$PATH" exec "$bin/jupyterhub-singleuser" "$@"
