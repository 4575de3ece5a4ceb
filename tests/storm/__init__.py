"""The storm: a cluster whose nodes and store fail all the time, and what its clients count."""
