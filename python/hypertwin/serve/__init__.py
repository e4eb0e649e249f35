"""Server of `hypertwin serve`: a folder of scenarios, runs and their pages, for browsers on this computer.

| file | contents |
|---|---|
| `access.py` | protection of every request: host, origin, token, cookie, limits, headers |
| `refusal.py` | the refusal of a request, with its status |
| `files.py` | the served folder: scenarios and exports, and the names that are allowed in it |
| `offers.py` | commands and options that a browser can ask for |
| `launch.py` | start of a process that has limits and ends with the server |
| `runs.py` | runs of commands, each a process with a folder of its own |
| `workers.py` | processes for short requests: checks and live simulations |
| `worker.py` | such a process |
| `imports.py` | imports of uploads and exports |
| `app.py` | addresses of the server, and their answers |
| `server.py` | start and end of the server |
| `app.js`, `app.css` | the front end, built from `web/src/serve` by `make page` |
"""
