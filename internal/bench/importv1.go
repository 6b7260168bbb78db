package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/importv1"
)

const (
	// v1Users is how many people's memories are in the table of version 1.
	v1Users = 200
	// v1Goal is the speed of an import, as a part of that of COPY.
	v1Goal = 0.6
	// v1Rounds of each way, every other in the opposite order.
	v1Rounds = 3
)

// v1Columns are those of a memory that COPY brings.
const v1Columns = `user_id, memory_type, id, content, valid_at, invalid_at, created_at, expired_at, updated_at, superseded_by, version,
	session_id, seq, speaker, agent_id, source, category, importance, access_count, last_accessed_at, metadata, trait_subtype, trait_stage,
	trait_confidence, trait_confidence_at, trait_context, trait_reinforcement_count, trait_contradiction_count, trait_last_reinforced,
	trait_first_observed, trait_window_start, trait_window_end, trait_derived_from, trait_next_transition_at`

// importV1 compares an import of version 1 with a COPY of the same memories into the same tables, without their triggers.
func (b *bench) importV1(ctx context.Context) error {
	source, err := b.v1Database(ctx)
	if err != nil {
		return err
	}
	dump, err := os.CreateTemp("/var/tmp", "oxbow-bench-v1-")
	if err != nil {
		return err
	}
	//nolint:errcheck // nothing could be done about it
	defer os.Remove(dump.Name())
	//nolint:errcheck // the file is going to be deleted
	defer dump.Close()

	var here, there, copied []float64
	ways := []func() error{
		func() error { return b.v1Import(ctx, "", &here) },
		func() error { return b.v1Import(ctx, source, &there) },
		func() error { return b.v1Copy(ctx, dump, &copied) },
	}
	for round := range v1Rounds {
		for nth, way := range ways {
			if err := way(); err != nil {
				return err
			}
			if round == 0 && nth == 0 { // COPY, which comes last at first, brings what an import has made
				if err := b.v1Dump(ctx, dump); err != nil {
					return err
				}
			}
		}
		slices.Reverse(ways)
	}
	out := Table{Title: fmt.Sprintf("Import of version 1, %d rows, memories a second: medians of %d rounds in turns", b.V1, v1Rounds)}
	out.add("way", "a second", "of COPY", "promised")
	out.add("COPY without triggers", fmt.Sprintf("%.0f", median(copied)), "1.00", "")
	for _, way := range []struct {
		name  string
		rates []float64
	}{{"import-v1, the same database", here}, {"import-v1, from another one", there}} {
		part := median(way.rates) / median(copied)
		out.add(way.name, fmt.Sprintf("%.0f", median(way.rates)), fmt.Sprintf("%.2f", part), fmt.Sprintf("≥ %.2f %s", v1Goal, verdict(part >= v1Goal)))
	}
	b.show(out)
	return b.drop(ctx, "bench_v1_source")
}

// v1Database makes a database with the table of version 1 and with Oxbow's schema, empty.
func (b *bench) v1Database(ctx context.Context) (dsn string, err error) {
	if dsn, err = b.database(ctx, "bench_v1_source"); err != nil {
		return "", err
	}
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, `
		create table public.embeddings (
		  id uuid primary key, user_id varchar(255) not null, content text not null, embedding vector(1024), memory_type varchar(50) not null,
		  metadata jsonb, valid_from timestamptz, valid_until timestamptz, superseded_by uuid, version integer, access_count integer,
		  last_accessed_at timestamptz, created_at timestamptz not null);
		create temporary table text (n integer, content text)`)
	if err != nil {
		return "", err
	}
	w := newWriter(b.Seed)
	_, err = pool.CopyFrom(ctx, pgx.Identifier{"text"}, []string{"n", "content"}, pgx.CopyFromSlice(b.V1, func(i int) ([]any, error) {
		if i%5 == 0 {
			return []any{i, w.chinese(40 + w.IntN(60))}, nil
		}
		return []any{i, w.text()}, nil
	}))
	if err != nil {
		return "", err
	}
	// of twenty: six general, five facts, seven episodes, a document and an insight; one in a hundred is a trait with evidence,
	// one in 33 was superseded
	_, err = pool.Exec(ctx, `
		insert into embeddings
		select md5('v1 ' || n)::uuid, 'user ' || n % $1, content, null,
		       case when n % 100 = 1 then 'trait' else (array['general', 'fact', 'episodic', 'general', 'episodic', 'fact', 'general', 'episodic', 'fact', 'episodic',
		         'general', 'fact', 'episodic', 'general', 'episodic', 'fact', 'general', 'episodic', 'document', 'insight'])[1 + n % 20] end,
		       case when n % 100 = 1 then jsonb_build_object('trait_stage', 'established', 'trait_subtype', 'behavior', 'confidence', 0.7, 'reinforcement_count', 3,
		              'last_reinforced', '2025-03-01', 'evidence', jsonb_build_object('supporting', jsonb_build_array(
		                jsonb_build_object('id', md5('v1 ' || n - 2 * $1)::uuid, 'quality', 'C'), jsonb_build_object('id', md5('v1 ' || n - 3 * $1)::uuid, 'quality', 'B')), 'contradicting', '[]'::jsonb))
		            else jsonb_build_object('importance', 1 + n % 10, 'source', 'conversation', 'session_id', 'chat-' || n / 20, 'entities', jsonb_build_array('Lisbon', 'Tom'),
		              'emotion', jsonb_build_object('valence', 0.3, 'arousal', 0.4, 'label', 'calm')) end,
		       '2024-01-01'::timestamptz + n * interval '20 seconds', null, case when n % 33 = 5 then md5('v1 ' || n + $1)::uuid end, 1, n % 4, null,
		       '2024-01-01'::timestamptz + n * interval '20 seconds'
		  from text order by n`, v1Users)
	if err != nil {
		return "", err
	}
	_, err = pool.Exec(ctx, `create index on embeddings (user_id)`)
	if err == nil {
		_, err = pool.Exec(ctx, `vacuum (analyze) embeddings`)
	}
	return dsn, err
}

// v1Import imports into a new database, and adds how fast: into one with the table in it, if from is empty, otherwise from the
// database there.
func (b *bench) v1Import(ctx context.Context, from string, rates *[]float64) error {
	_ = b.drop(ctx, "bench_v1") // there is none the first time
	dsn, err := b.v1Target(ctx, from)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var o importv1.Options
	if from != "" {
		if o.Source, err = pgx.Connect(ctx, from); err != nil {
			return err
		}
		defer o.Source.Close(context.WithoutCancel(ctx))
	}
	if _, err := conn.Exec(ctx, "checkpoint"); err != nil { // it is not to write what others left
		return err
	}
	stage, since := "", time.Now()
	o.Progress = func(now string, _, _ int64) {
		if now != stage && stage != "" {
			b.v1Stages = append(b.v1Stages, fmt.Sprintf("%s %.1f s", stage, time.Since(since).Seconds()))
		}
		if now != stage {
			stage, since = now, time.Now()
		}
	}
	report, err := importv1.Run(ctx, conn, o)
	if err != nil {
		return err
	}
	if sum := report.Sum(); sum.New != int64(b.V1) || sum.Missing != 0 {
		return fmt.Errorf("%d of %d rows were imported, %d are missing", sum.New, b.V1, sum.Missing)
	}
	b.notef("import %.1f s: %s, finish %.1f s", report.Took.Seconds(), strings.Join(b.v1Stages, ", "), time.Since(since).Seconds())
	b.v1Stages = nil
	*rates = append(*rates, float64(b.V1)/report.Took.Seconds())
	return nil
}

// v1Target makes the database bench_v1 to import into.
func (b *bench) v1Target(ctx context.Context, from string) (string, error) {
	if from != "" {
		return b.database(ctx, "bench_v1")
	}
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `create database bench_v1 template bench_v1_source`)
	return b.server.DSN("bench_v1"), err
}

// v1Dump writes the imported memories as text for COPY, in the order in which they were made.
func (b *bench) v1Dump(ctx context.Context, to io.Writer) error {
	conn, err := pgx.Connect(ctx, b.server.DSN("bench_v1"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.PgConn().CopyTo(ctx, to, `copy (select `+v1Columns+` from oxbow.memories order by created_at) to stdout`)
	return err
}

// v1Copy copies the memories into tables without triggers, as fast as PostgreSQL takes them, and adds how fast that was.
func (b *bench) v1Copy(ctx context.Context, dump io.ReadSeeker, rates *[]float64) error {
	_ = b.drop(ctx, "bench_v1") // it is from what came before
	dsn, err := b.database(ctx, "bench_v1")
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, t := range []string{"memories", "memories_fact", "memories_episodic", "memories_trait", "memories_document"} {
		if _, err := pool.Exec(ctx, `alter table oxbow.`+t+` disable trigger user`); err != nil {
			return err
		}
	}
	if _, err := dump.Seek(0, io.SeekStart); err != nil {
		return err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "checkpoint"); err != nil {
		return err
	}
	begun := time.Now()
	tag, err := conn.Conn().PgConn().CopyFrom(ctx, dump, `copy oxbow.memories (`+v1Columns+`) from stdin`)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	b.notef("COPY %.1f s", took.Seconds())
	if tag.RowsAffected() != int64(b.V1) {
		return fmt.Errorf("%d of %d memories were copied", tag.RowsAffected(), b.V1)
	}
	*rates = append(*rates, float64(b.V1)/took.Seconds())
	return nil
}
