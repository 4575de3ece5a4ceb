"""Scenarios: servers that each do one special thing, which a client must take rightly.

One scenario is one run of the examined client. The server of a scenario is a subclass of the
reference server with one method changed; it stands in a room for its area, such as
`mcp_gen.compat.scenarios.core`, whose name is in `ROOMS` of `mcp_gen.compat.checks.check`. There
are three kinds:

* `@stimulus(id)`: the server gives a rule something to judge, such as a ping. The check is that
  rule: `@rule(id, unseen=...)` in `mcp_gen.compat.checks.clients`. Rules read the transcripts of
  all scenarios of a revision, so most rules need no stimulus at all.
* `@scenario(id, judge)`: the check is the judge of this one scenario, a function of the run and of
  what takes findings. The run has its transcripts, how the client ended, and the runs beside it
  (`run.strict`, `run.run_of(name)`). The judges that many need are in `judgements`: `goes_on`,
  `goes_on_alike`, `rejects`, `asks_as_in`. With `needs_process=True` it is for servers that do
  something with their process, and is run where the client starts a command alone.
* `control(name, server)`: a server whose runs are compared with those of scenarios. A program that
  ends well although its call was refused swallows errors: its exit code proves nothing.

Each check has a pair in `mcp_gen.compat.zoo.clients`: `@breaks(id)` and `@keeps(id)` on subclasses
of `mcp_gen.compat.reference.client_script.ClientScript`, with one step changed.

`Stage` runs the client: in this process (`memory.MemoryStage`), or as a command whose server is
`python -m mcp_gen.compat.scenarios.program` (`commands.CommandStage`). A stage for HTTP gives the
same server classes an endpoint, and the client a URL.
"""
