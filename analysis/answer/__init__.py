"""One answer from all rooms: the phases of a run, with their sites, their steps and what their heartbeats cost."""
