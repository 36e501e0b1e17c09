#!/bin/sh
# One installation of the course for all students, which none of them can change: sh deploy/install.sh [FOLDER]   (default: /opt/bertlook)
# Run it as root from a checkout. PYTHON names another Python, PIP_OPTIONS goes to pip (an index of one's own, say).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=${1:-/opt/bertlook}
hub=$(sed -n 's/^jupyterhub==/jupyterhub==/p' "$here/requirements-hub.txt")

mkdir -p "$to/deploy"
"${PYTHON:-python3}" -m venv "$to/venv"
# shellcheck disable=SC2086 # several options are several words
"$to/venv/bin/python" -m pip install ${PIP_OPTIONS:-} -c "$here/../constraints.txt" "$here/..[lab]" "$hub"
cp "$here/lean_kernel.py" "$here/student.sh" "$to/deploy/"
"$to/venv/bin/python" "$to/deploy/lean_kernel.py" --install
# No question about news from the internet in the first minute of a lesson.
mkdir -p "$to/venv/share/jupyter/lab/settings"
echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' \
    >"$to/venv/share/jupyter/lab/settings/overrides.json"
"$to/venv/bin/python" -m compileall -q "$to/venv/lib" || true # students cannot write what Python would compile for each of them
chmod -R go-w,a+rX "$to"
chmod a+x "$to/deploy/student.sh"
echo "The course is in $to; docs/deploy.md says how to go on."
