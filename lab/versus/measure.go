package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// figures are what a rival achieved on a set.
type figures struct {
	Recall5, Recall10, Hit10, Precision float64
	Adds                                float64 // a second
	P50, P95                            float64 // of a search, in milliseconds
	Bytes                               float64 // of disk, per memory
	Memory                              float64 // MB
}

func (f figures) String() string {
	return fmt.Sprintf("recall@5 %.3f  @10 %.3f  hit@10 %.3f  precision %.3f  %.0f adds/s  p50 %.1f ms  p95 %.1f ms  "+
		"%.0f B  %.0f MB", f.Recall5, f.Recall10, f.Hit10, f.Precision, f.Adds, f.P50, f.P95, f.Bytes, f.Memory)
}

// batch is how many memories are added at once.
const batch = 100

// measure runs a rival on a set, with a PostgreSQL of its own if it uses one.
func (r *run) measure(v *rival, s *set) (f figures) {
	dir := must.Get(os.MkdirTemp("", "versus-"))
	defer func() { must.OK(os.RemoveAll(dir)) }()
	files := filepath.Join(dir, "files")
	must.OK(os.Mkdir(files, 0o700))
	var server *localpg.Server
	var url, data string
	if v.database {
		must.OK(os.Chmod(dir, 0o755)) // the server may run as another account
		server = must.Get(localpg.Start(r.ctx, localpg.Config{DataDir: filepath.Join(dir, "pg"), Database: "versus"}))
		defer func() { must.OK(server.Stop(r.ctx)) }()
		url, data = server.DSN("versus"), server.Dir()
	}
	a := r.start(v, files, url)
	peak := watch(a.cmd.Process.Pid, data)
	before := r.size(url, files)

	var adding time.Duration
	var durations []time.Duration
	settled := true
	settle := func() {
		if !settled {
			_, d := a.ask(map[string]any{"do": "settle"})
			adding, settled = adding+d, true
		}
	}
	for _, step := range s.steps(batch) {
		if step.add != nil {
			_, d := a.ask(map[string]any{"do": "add", "user": step.add[0].User, "memories": step.add})
			adding, settled = adding+d, false
			continue
		}
		settle()
		search := map[string]any{"do": "search", "user": step.ask.User, "question": step.ask.Question, "limit": s.depth}
		if durations == nil {
			a.ask(search) // connections and models are ready
		}
		found, d := a.ask(search)
		durations = append(durations, d)
		f.count(step.ask, found.IDs, s.sessions)
	}
	settle()
	f.Adds = float64(len(s.memories)) / adding.Seconds()
	f.Bytes = float64(r.size(url, files)-before) / float64(len(s.memories))
	n := float64(len(s.questions))
	f.Recall5, f.Recall10, f.Hit10, f.Precision = f.Recall5/n, f.Recall10/n, f.Hit10/n, f.Precision/n
	slices.Sort(durations)
	f.P50, f.P95 = percentile(durations, 0.50), percentile(durations, 0.95)
	f.Memory = float64(peak()) / 1e6
	a.stop()
	return f
}

// count adds the measures of one answer. For a question with gold sessions, the results are the distinct sessions of the
// memories, each at the place of its first memory.
func (f *figures) count(q *question, ids []string, sessions map[[2]string]string) {
	gold := q.Gold
	if len(gold) == 0 {
		gold = q.Sessions
		var distinct []string
		for _, id := range ids {
			if s := sessions[[2]string{q.User, id}]; !slices.Contains(distinct, s) {
				distinct = append(distinct, s)
			}
		}
		ids = distinct
	}
	ids = ids[:min(limit, len(ids))]
	found := 0
	for i, id := range ids {
		if !slices.Contains(gold, id) {
			continue
		}
		if found++; i < 5 {
			f.Recall5 += 1 / float64(len(gold))
		}
	}
	f.Recall10 += float64(found) / float64(len(gold))
	if found > 0 {
		f.Hit10++
		f.Precision += float64(found) / float64(len(ids))
	}
}

// percentile uses the nearest rank.
func percentile(sorted []time.Duration, p float64) float64 {
	return float64(sorted[int(math.Ceil(p*float64(len(sorted))))-1].Microseconds()) / 1000
}

// size returns the bytes of the database and of the files.
func (r *run) size(url, files string) (bytes int64) {
	if url != "" {
		conn := must.Get(pgx.Connect(r.ctx, url))
		defer conn.Close(r.ctx)
		must.Get(conn.Exec(r.ctx, "checkpoint"))
		must.OK(conn.QueryRow(r.ctx, "select pg_database_size(current_database())").Scan(&bytes))
	}
	must.OK(filepath.WalkDir(files, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	}))
	return bytes
}
