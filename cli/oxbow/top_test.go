package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTopOnce(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	text := d.ok("top", "--once")
	require.Contains(t, text, "waiting     nothing")
	require.Contains(t, text, "0 workers, no leader")
	require.Regexp(t, `none +0 +0 +0 +0 +0`, text)

	d.exec(threeMemories)
	d.exec(`insert into oxbow.messages (user_id, session_id, content) values ('ann', 's', '我搬到了上海')`)
	d.exec(`update oxbow.river_job
		set scheduled_at = now() - interval '5 minutes', created_at = now() - interval '5 minutes'
		where kind = 'embed'`)
	d.exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, attempted_at, errors) values
		('reflect', 'reflect', '{}', 'retryable', 3, now() - interval '3 minutes',
		array['{"error": "磁盘已满: the disk\nis full"}']::jsonb[]),
		('extract', 'extract', '{}', 'running', 1, now() - interval '30 seconds', null)`)
	d.exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, scheduled_at)
		select 'embed', 'embed', '{}', 'completed', 1, now() + interval '5 seconds', now() from generate_series(1, 50)`)
	d.exec(`insert into oxbow.river_job (kind, queue, args, state, scheduled_at, metadata)
		values ('embed', 'embed', '{}', 'scheduled', now() + interval '1 minute', '{"snoozes": 2}')`)
	text = d.ok("top")
	require.Regexp(t, `embed +2 +0 +1 +0 +0 +5 min +5\.0 +5\.0 s`, text,
		"waiting, running, later, retryable, discarded; oldest due, done a second, took")
	require.Regexp(t, `reflect +0 +0 +0 +1 +0`, text)
	require.Regexp(t, `extract +1 +[3-5]\d s`, text, "the running one")
	require.Regexp(t, `reflect +retryable +3 +3 min +磁盘已满: the disk is full`, text)
	require.Contains(t, text, "memories to embed, for 5 min; messages to extract: 1")
	require.Contains(t, text, "put off until it answers, or a worker uses it: 1 job")
}

// pictures records what top draws, and stops it after enough screens.
type pictures struct {
	shown  bytes.Buffer
	enough int
	stop   func()
}

func (p *pictures) Write(b []byte) (int, error) {
	n, err := p.shown.Write(b)
	if strings.Count(p.shown.String(), "oxbow top   ") >= p.enough {
		p.stop()
	}
	return n, err
}

// The live display is redrawn, and the terminal is restored at the end.
func TestTopLive(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out := pictures{enough: 3, stop: cancel}
	a := &app{in: strings.NewReader(""), out: &out, err: &out, databaseURL: d.dsn}
	db, err := a.connect(t.Context())
	require.NoError(t, err)
	defer db.pool.Close()
	require.NoError(t, db.topLive(ctx, 100*time.Millisecond))
	text := out.shown.String()
	require.True(t, strings.HasPrefix(text, enterScreen))
	require.True(t, strings.HasSuffix(text, leaveScreen))
	require.GreaterOrEqual(t, strings.Count(text, "oxbow top   "), 3)
	require.Contains(t, text, "0 stored, 0 embedded, 0 messages per second", "from the second picture on")
}

func TestTopTruncates(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out}
	a.draw(strings.Repeat(strings.Repeat("很", 100)+"\n", 100))
	require.Equal(t, 23, strings.Count(out.String(), newLine), "24 lines where the terminal does not tell")
	require.Contains(t, out.String(), strings.Repeat("很", 39)+"…"+newLine)
}
