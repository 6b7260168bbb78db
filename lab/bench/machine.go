package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// serverSettings are those that oxbow doctor advises.
func serverSettings() map[string]string {
	settings := map[string]string{"random_page_cost": "1.1"}
	if kib := memoryKiB(); kib > 0 {
		settings["shared_buffers"] = fmt.Sprintf("%dMB", min(kib>>12, 8<<10))
	}
	return settings
}

// memoryKiB returns the machine's memory, or 0 if it is unknown.
func memoryKiB() int {
	kib, _ := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"))
	return kib
}

func machine() string {
	return fmt.Sprintf("%d CPUs (%s), %d GiB, %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"),
		memoryKiB()>>20, runtime.Version())
}

// field returns the first value of a name in a file of lines "name: value", or "".
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load returns the system's load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
