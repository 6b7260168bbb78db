package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionLine returns the program's version as Go recorded it (a tag, a pseudo-version of the
// commit, or "(devel)" for a build without version control), and the Go release and platform of the
// build.
func versionLine() string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return fmt.Sprintf("%s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
