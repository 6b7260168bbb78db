// Package kill kills the real binary with SIGKILL, at named points (internal/failpoint) and at
// random moments, and compares what it leaves in the end with an undisturbed run. It also dumps,
// copies and recovers a database under load, as docs/backup.md says. It has tests alone; make
// kill-reflect and make kill-extract run the long ones.
package kill
