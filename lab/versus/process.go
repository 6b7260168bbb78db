package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// watch samples the memory of a process and its descendants, and of the PostgreSQL in a directory, until the returned
// function is called, which returns the largest sum in bytes. It counts shared pages once (PSS).
func watch(pid int, data string) (peak func() uint64) {
	roots := map[int]bool{pid: true}
	if text, err := os.ReadFile(filepath.Join(data, "data/postmaster.pid")); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		if postmaster, err := strconv.Atoi(line); err == nil {
			roots[postmaster] = true
		}
	}
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var largest uint64
		for {
			largest = max(largest, memoryOf(roots))
			select {
			case <-time.After(250 * time.Millisecond):
			case <-stop:
				most <- largest
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}

// memoryOf sums the memory of processes and their descendants. A process that ends meanwhile does not count.
func memoryOf(roots map[int]bool) (sum uint64) {
	all, _ := procfs.AllProcs()
	parent := map[int]int{}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil {
			parent[p.PID] = stat.PPID
		}
	}
	for _, p := range all {
		for pid := p.PID; pid != 0; pid = parent[pid] {
			if roots[pid] {
				if rollup, err := p.ProcSMapsRollup(); err == nil {
					sum += rollup.Pss
				}
				break
			}
		}
	}
	return sum
}
