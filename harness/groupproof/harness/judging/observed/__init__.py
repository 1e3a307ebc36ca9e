"""Groups that the kit does not drive: live traces, taps and loads, judged group by group. Pure."""
