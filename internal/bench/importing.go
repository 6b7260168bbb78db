package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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

// chineseFile has n memories of five people, 143 characters long on average, in conversations of a dozen.
func (b *bench) chineseFile(n int) []byte {
	w := newWriter(b.Seed)
	var file bytes.Buffer
	encoder := json.NewEncoder(&file)
	for i := range n {
		w.write(encoder, line{"memory", fmt.Sprintf("person-%d", i%5), fmt.Sprint("m/", i), fmt.Sprint("s/", i/60), i,
			time.Date(2025, 1, 1, 0, i*16, 0, 0, time.UTC), w.chinese(90 + w.IntN(66)), ""})
	}
	return file.Bytes()
}

// importTimes measures from the beginning of an import to the moment when everything can be recalled.
func (b *bench) importTimes(ctx context.Context) error {
	open := func() (io.Reader, error) { return bytes.NewReader(b.chineseFile(b.Imported)), nil }
	if b.ImportFile != "" {
		open = func() (io.Reader, error) {
			content, err := os.ReadFile(b.ImportFile)
			return bytes.NewReader(content), err
		}
	}
	file, err := open()
	if err != nil {
		return err
	}
	dsn, err := b.database(ctx, "bench_import")
	if err != nil {
		return err
	}
	var report oxbow.ImportReport
	var stored time.Duration
	start := time.Now()
	total, err := b.importAndEmbed(ctx, dsn, func(ctx context.Context, client *oxbow.Client) (err error) {
		report, err = client.Import(ctx, file, oxbow.ImportOptions{})
		stored = time.Since(start)
		return err
	})
	if err != nil {
		return err
	}
	out := Table{Title: "Import, seconds until every memory is embedded"}
	out.add("memories", "stored after", "embedded after", "a second", "promised")
	promise := fmt.Sprintf("≤ 20 for 31,439 %s", verdict(total.Seconds()*31_439/float64(report.Memories) <= 20))
	out.add(fmt.Sprint(report.Memories), fmt.Sprintf("%.1f", stored.Seconds()), fmt.Sprintf("%.1f", total.Seconds()),
		fmt.Sprintf("%.0f", float64(report.Memories)/total.Seconds()), promise)
	b.show(out)
	return b.drop(ctx, "bench_import")
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
	for {
		var waiting bool
		if err := pool.QueryRow(ctx, `
			select exists (select from oxbow.river_job where kind = 'embed' and state not in ('completed', 'discarded', 'cancelled'))`).Scan(&waiting); err != nil {
			return 0, err
		}
		if !waiting {
			break
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	total = time.Since(start)
	var left int
	if err := pool.QueryRow(ctx, `
		select (select count(*) from oxbow.memories) - (select count(*) from oxbow.memory_terms t join oxbow.memory_vectors v
			using (user_id, memory_type, memory_id))`).Scan(&left); err != nil {
		return 0, err
	}
	if left != 0 {
		return 0, fmt.Errorf("%d memories are not embedded", left)
	}
	return total, nil
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
