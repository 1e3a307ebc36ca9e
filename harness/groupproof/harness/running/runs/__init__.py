"""One whole run: cases selected, run, ruled on and summed up, for either side."""
