"""For The Littlest JupyterHub: tljh.sh copies this to /opt/tljh/config/jupyterhub_config.d/bertlook.py.

Login, accounts, culling of servers and limits stay TLJH's, which keeps memory limits by systemd; here is only what the course needs.
"""

c = get_config()  # noqa: F821 - JupyterHub puts it here

c.Spawner.cmd = ["/opt/bertlook/deploy/student.sh"]
c.Spawner.default_url = "/lab/tree/course/slides"
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
c.Spawner.environment = {"OMP_NUM_THREADS": "1"}
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1800",
    "--MappingKernelManager.cull_interval=120",
    "--MappingKernelManager.cull_connected=True",
]
