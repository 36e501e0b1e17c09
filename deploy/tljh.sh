#!/bin/sh
# The course on The Littlest JupyterHub, on a machine that has it already (https://tljh.jupyter.org): sudo sh deploy/tljh.sh [TEACHER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v tljh-config >/dev/null || {
    echo "There is no tljh-config here: install The Littlest JupyterHub first, https://tljh.jupyter.org" >&2
    exit 1
}
# The student's server speaks to this machine's hub: the same version on both sides.
hub=$(/opt/tljh/hub/bin/python -c 'import jupyterhub; print(jupyterhub.__version__)')
sh "$here/install.sh" /opt/bertlook
# shellcheck disable=SC2086 # several options are several words
/opt/bertlook/venv/bin/python -m pip install ${PIP_OPTIONS:-} -c "$here/../constraints.txt" "jupyterhub==$hub"
chmod -R go-w,a+rX /opt/bertlook
install -D -m 644 "$here/tljh_config.py" /opt/tljh/config/jupyterhub_config.d/bertlook.py
tljh-config set limits.memory 1G
tljh-config set limits.cpu 2
tljh-config set services.cull.timeout 3600
if [ -n "${1:-}" ]; then
    tljh-config add-item users.admin "$1"
fi
tljh-config reload
