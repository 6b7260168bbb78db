package worker

import (
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/jobs"
)

// periodicJobs are enqueued by whichever worker leads. Each is unique, so one that takes longer than its period is not
// enqueued twice; and each is enqueued when a worker begins to lead, so that a restart puts nothing off.
func periodicJobs() []*river.PeriodicJob {
	every := func(d time.Duration, args river.JobArgs) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(d),
			func() (river.JobArgs, *river.InsertOpts) { return args, nil }, &river.PeriodicJobOpts{RunOnStart: true})
	}
	return []*river.PeriodicJob{
		every(10*time.Second, jobs.FlushActivityArgs{}),
		every(time.Minute, jobs.SweepArgs{}),
		every(time.Minute, jobs.SensoryArgs{}),
		every(time.Minute, jobs.VectorIndexArgs{}),
		every(5*time.Minute, jobs.SettleArgs{}),
		every(24*time.Hour, jobs.ConsistencyCheckArgs{}),
	}
}
