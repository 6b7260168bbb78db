package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/worker"
)

// line is a memory in a file to import.
type line struct {
	Type    string    `json:"type"`
	User    string    `json:"user"`
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Content string    `json:"content"`
	Kind    string    `json:"memory_type,omitempty"`
}

// memories writes n memories of a user as lines, in conversations of ten, a tenth of them facts, and returns their texts.
func (w writer) memories(file io.Writer, user string, n int) []string {
	texts := make([]string, n)
	encoder := json.NewEncoder(file)
	var start time.Time
	for i := range texts {
		if i%10 == 0 {
			start = w.moment()
		}
		kind := ""
		if i%10 == 9 {
			kind = "fact"
		}
		texts[i] = w.text()
		w.write(encoder, line{"memory", user, fmt.Sprintf("%s/%d", user, i), fmt.Sprintf("s%d", i/10), i, start.Add(time.Duration(i%10) * time.Minute), texts[i], kind})
	}
	return texts
}

// write cannot fail: the lines go to memory, and are made of texts and numbers.
func (w writer) write(encoder *json.Encoder, l line) {
	if err := encoder.Encode(l); err != nil {
		panic(err)
	}
}

// chineseLines writes memories of five people, 143 characters long on average, in conversations of a dozen.
func (w writer) chineseLines(file io.Writer, from, to int) {
	encoder := json.NewEncoder(file)
	for i := from; i < to; i++ {
		w.write(encoder, line{"memory", fmt.Sprintf("person-%d", i%5), fmt.Sprint("m/", i), fmt.Sprint("s/", i/60), i,
			time.Date(2025, 1, 1, 0, i*16, 0, 0, time.UTC), w.chinese(90 + w.IntN(66)), ""})
	}
}

const (
	// importSize is how many memories are promised to be imported and embedded within importGoal.
	importSize = 31_439
	importGoal = 20 * time.Second
	// memorySize is how many memories are imported where a worker is promised to have less memory than memoryGoal, in bytes.
	memorySize = 1_000_000
	memoryGoal = 200e6
)

// importTimes measures imports of each size, in databases of their own.
func (b *bench) importTimes(ctx context.Context) (err error) {
	times := Table{Title: "Import, seconds until every memory is embedded; import and worker as processes of their own"}
	times.add("memories", "stored after", "embedded after", "a second", "promised")
	memory := Table{Title: "Memory during the import, peak of what was resident, MB (Linux)"}
	memory.add("process", "memories", "peak", "promised")
	sizes := b.Imported
	if b.ImportFile != "" {
		sizes = []int{0} // what is in the file
	}
	for _, size := range sizes {
		measured := len(times.Rows)
		err = errors.Join(err, b.importOnce(ctx, size, &times, &memory))
		if len(times.Rows) == measured {
			break
		}
	}
	for _, t := range []Table{times, memory} {
		if len(t.Rows) > 0 {
			b.show(t)
		}
	}
	return err
}

// importOnce measures from the beginning of an import to the moment when everything can be recalled. Import and worker are
// processes of their own, as people run them. A worker that does not stop as it should fails after what was measured is noted.
func (b *bench) importOnce(ctx context.Context, size int, times, memory *Table) error {
	file, err := b.fileToImport(size)
	if err != nil {
		return err
	}
	if file != b.ImportFile {
		//nolint:errcheck // it goes with the directory at the latest
		defer os.Remove(file)
	}
	dsn, err := b.database(ctx, "bench_import")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	start := time.Now()
	work, err := b.oxbow(ctx, dsn, "work")
	if err != nil {
		return err
	}
	load, stored, err := b.load(ctx, dsn, file, start)
	var end time.Time
	if err == nil {
		end, err = waitEmbedded(ctx, pool)
	}
	stopped := work.stop()
	if err != nil {
		return errors.Join(err, stopped)
	}
	if file == b.ImportFile {
		if err := pool.QueryRow(ctx, "select count(*) from oxbow.memories where memory_type <> 'trait'").Scan(&size); err != nil {
			return errors.Join(err, stopped)
		}
	}
	times.add(importRow(size, stored, end.Sub(start))...)
	memory.add("oxbow import", fmt.Sprint(size), load.peakMB(), "")
	memory.add("oxbow work", fmt.Sprint(size), work.peakMB(), memoryPromise(size, work.peak.Load()))
	pool.Close()
	return errors.Join(stopped, b.drop(ctx, "bench_import"))
}

// fileToImport is the one that was given, or one of texts that are made up.
func (b *bench) fileToImport(size int) (string, error) {
	if b.ImportFile != "" {
		return b.ImportFile, nil
	}
	file, err := os.Create(filepath.Join(b.base, "import.jsonl"))
	if err != nil {
		return "", err
	}
	w := newWriter(b.Seed)
	for i := 0; i < size; i += 10_000 {
		var lines bytes.Buffer
		w.chineseLines(&lines, i, min(i+10_000, size))
		if _, err := file.Write(lines.Bytes()); err != nil {
			return "", errors.Join(err, file.Close())
		}
	}
	return file.Name(), file.Close()
}

// load imports a file, and tells when it was stored.
func (b *bench) load(ctx context.Context, dsn, file string, start time.Time) (load *process, stored time.Duration, err error) {
	if load, err = b.oxbow(ctx, dsn, "import", file); err != nil {
		return nil, 0, err
	}
	err = load.wait(ctx)
	return load, time.Since(start), err
}

// importRow compares with what is promised only where as much was imported: time does not grow as the memories do.
func importRow(size int, stored, total time.Duration) []string {
	promise := fmt.Sprintf("≤ %.0f for 31,439", importGoal.Seconds())
	if size == importSize {
		promise += " " + verdict(total <= importGoal)
	}
	return []string{fmt.Sprint(size), fmt.Sprintf("%.1f", stored.Seconds()), fmt.Sprintf("%.1f", total.Seconds()),
		fmt.Sprintf("%.0f", float64(size)/total.Seconds()), promise}
}

// memoryPromise compares the peak of a worker's memory with what is promised only where as much was imported.
func memoryPromise(size int, peak int64) string {
	promise := fmt.Sprintf("< %.0f for 1,000,000", memoryGoal/1e6)
	if size == memorySize && peak > 0 {
		promise += " " + verdict(float64(peak) < memoryGoal)
	}
	return promise
}

// importAndEmbed runs a worker beside what the function does, and returns after how long no memory was left without
// terms or vector.
func (b *bench) importAndEmbed(ctx context.Context, dsn string, fill func(context.Context, *oxbow.Client) error) (total time.Duration, err error) {
	start := time.Now()
	pool, err := openPool(ctx, dsn, 2)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	client, err := oxbow.New(pool, oxbow.WithoutUseReports())
	if err != nil {
		return 0, err
	}
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := fill(ctx, client); err != nil {
		return 0, err
	}
	end, err := waitEmbedded(ctx, pool)
	return end.Sub(start), err
}

// waitEmbedded returns when no memory is left without terms or vector, and since when it is so.
func waitEmbedded(ctx context.Context, pool *pgxpool.Pool) (end time.Time, err error) {
	return await(ctx, pool, 200*time.Millisecond, "select -count(*) from oxbow.memory_vectors", func() (waiting bool, err error) {
		if waiting, err = exists(ctx, pool, "oxbow.river_job where kind = 'embed' and state in "+statesLeft); err != nil || waiting {
			return waiting, err
		}
		// what somebody commits in between, with its job, is not embedded yet: then it looks again
		return exists(ctx, pool, `(select count(*) from oxbow.memories) m (n), (select count(*) from oxbow.memory_terms t join oxbow.memory_vectors v
			using (user_id, memory_type, memory_id)) e (n) where m.n <> e.n`)
	})
}

// startWorker runs a worker until the function that it returns is called.
func startWorker(ctx context.Context, cfg worker.Config) (stop func() error, err error) {
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() error {
		cancel()
		err := <-done
		w.Close()
		return err
	}, nil
}
