"""Client tests of tasks: starting, waiting, answering their input requests, running own ones."""
