"""What one call reads and writes: paths, guards, views and the capture that ties them together."""
