"""A hub for a class: jupyterhub --config deploy/jupyterhub_config.py, in the container or on a machine of one's own.

The settings that a class may want to change are variables of the environment:
BERTLOOK_HOME (where install.sh put the course), BERTLOOK_MEMORY (of one student), BERTLOOK_TEACHERS (names, with commas),
BERTLOOK_ROSTER (names of the students, with commas; without it whoever comes first takes a name), BERTLOOK_IDLE (seconds).
The Littlest JupyterHub has its own: tljh_config.py.
"""

import os
import pwd
import subprocess
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - JupyterHub puts it here

home = Path(os.environ.get("BERTLOOK_HOME", "/opt/bertlook"))
names = {
    which: set(filter(None, map(str.strip, os.environ.get(f"BERTLOOK_{which}", "").split(","))))
    for which in ("TEACHERS", "ROSTER")
}

# --- who: the first one who comes with a name chooses its password ---------------------------------------
c.JupyterHub.authenticator_class = "firstuseauthenticator.FirstUseAuthenticator"
c.FirstUseAuthenticator.dbm_path = os.environ.get("BERTLOOK_PASSWORDS", "/srv/jupyterhub/passwords")
c.FirstUseAuthenticator.min_password_length = 8
c.FirstUseAuthenticator.create_users = not names["ROSTER"]  # with a roster only those on it
c.Authenticator.username_pattern = "[a-z][a-z0-9-]{0,30}"  # they become names of accounts
c.Authenticator.admin_users = names["TEACHERS"]
if names["ROSTER"]:
    c.Authenticator.allowed_users = names["ROSTER"] | names["TEACHERS"]
else:
    c.Authenticator.allow_all = True

# --- where: an account and a folder of one's own on the first day ----------------------------------------
trial = os.environ.get(
    "BERTLOOK_TRIAL"
)  # a folder: all students in it, as the user who started the hub; to try this file


def make_account(spawner):
    """An account without a password; a name that the system has already is not a student's."""
    name = spawner.user.name
    try:
        held = pwd.getpwnam(name)
    except KeyError:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", name], check=True)
        held = pwd.getpwnam(name)
        os.chmod(held.pw_dir, 0o700)
    if held.pw_uid < 1000:
        raise PermissionError(f"{name} is an account of the system; choose another name.")


if trial:
    c.JupyterHub.spawner_class = "simple"
    c.SimpleLocalProcessSpawner.home_dir_template = str(Path(trial).resolve() / "{username}")
else:
    c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
    c.Spawner.pre_spawn_hook = make_account
c.Spawner.cmd = [str(home / "deploy" / "student.sh")]
c.Spawner.default_url = "/lab/tree/course/slides"
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
c.Spawner.environment = {
    "OMP_NUM_THREADS": "1",
    "BERTLOOK_STUDENT_KB": os.environ.get("BERTLOOK_STUDENT_KB", "6000000"),
}

# --- how much: a student in class holds one server and one or two kernels --------------------------------
c.Spawner.mem_limit = os.environ.get(
    "BERTLOOK_MEMORY", "1G"
)  # kept by systemd and containers; here it is shown, student.sh limits
c.Spawner.cpu_limit = 2
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1800",  # a kernel nobody has used for half an hour
    "--MappingKernelManager.cull_interval=120",
    "--MappingKernelManager.cull_connected=True",  # an open tab alone does not keep it
]
if trial and os.getuid() == 0:
    c.Spawner.args.append("--allow-root")
c.JupyterHub.concurrent_spawn_limit = 20  # a bell rings and all come at once
c.JupyterHub.load_roles = [
    {
        "name": "culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["culler"],
    }
]
idle = os.environ.get("BERTLOOK_IDLE", "3600")
c.JupyterHub.services = [
    {"name": "culler", "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={idle}"]}
]

# --- from where: encryption is the business of what stands in front (docs/deploy.md) ----------------------
c.JupyterHub.bind_url = os.environ.get("BERTLOOK_BIND", "http://127.0.0.1:8000")
c.JupyterHub.cookie_secret_file = os.environ.get("BERTLOOK_COOKIES", "/srv/jupyterhub/cookie_secret")
c.JupyterHub.db_url = os.environ.get("BERTLOOK_DATABASE", "sqlite:////srv/jupyterhub/hub.sqlite")
