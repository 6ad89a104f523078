package main

import "log/slog"

// raiseOpenFiles does nothing: Windows has no such limit.
func raiseOpenFiles(*slog.Logger) {}
