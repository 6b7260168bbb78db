package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/programtest"
)

// The traits that settle do not depend on how often the worker was killed on the way: the real binary is killed with
// SIGKILL at random moments of a reflection over the memories of several people, and what it leaves in the end is what an
// undisturbed run leaves. OXBOW_KILLS and OXBOW_KILL_RECORDS (a file for "oxbow import") make it a long one, OXBOW_KILL_SEED
// repeats it: make kill-reflect.
func TestKilledReflectionLeavesTheSameTraits(t *testing.T) {
	kills, records := 5, os.Getenv("OXBOW_KILL_RECORDS")
	if n := os.Getenv("OXBOW_KILLS"); n != "" {
		var err error
		kills, err = strconv.Atoi(n)
		require.NoError(t, err)
	}
	if records == "" {
		records = filepath.Join(t.TempDir(), "records.jsonl")
		require.NoError(t, os.WriteFile(records, []byte(lives(3, 500)), 0o600))
	}
	k := newKilling(t)
	now := k.prepare(records)

	calm, wild := k.clone("calm"), k.clone("wild")
	begun := time.Now()
	k.oxbow(calm, "work", "--until-idle", "--now", now)
	calmly := time.Since(begun)
	killed := k.killOnTheWay(wild, now, kills, calmly)
	k.oxbow(wild, "work", "--until-idle", "--now", now)

	want, got := k.traits(calm), k.traits(wild)
	t.Logf("seed %d: %d reflections were interrupted by %d kills; undisturbed it took %s; %d lines of traits, evidence, events, clues and cycles",
		k.seed, killed, kills, calmly.Round(time.Millisecond), len(want))
	require.Positive(t, killed)
	require.Greater(t, len(want), 100)
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "line %d", i)
	}
	require.Equal(t, len(want), len(got))
	k.oxbow(wild, "check")
}

// killing is the binary, and a database with everything embedded and nothing reflected on.
type killing struct {
	*testing.T
	binary, dsn string
	seed        uint64
	random      *rand.Rand
	kept        map[string]*pgx.Conn // what exec and count ask, by connection string: they ask often
}

func newKilling(t *testing.T) *killing {
	k := &killing{T: t, binary: programtest.Oxbow(t), dsn: pgtest.Database(t), seed: rand.Uint64()}
	if s := os.Getenv("OXBOW_KILL_SEED"); s != "" {
		var err error
		k.seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	k.random = rand.New(rand.NewPCG(k.seed, 0))
	return k
}

func (k *killing) command(dsn string, args ...string) *exec.Cmd {
	return k.commandContext(k.Context(), dsn, args...)
}

func (k *killing) commandContext(ctx context.Context, dsn string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.binary, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn)
	return cmd
}

// commandLimit is how long a command may take. One that does not come to its end tells where its goroutines are.
const commandLimit = 10 * time.Minute

func (k *killing) oxbow(dsn string, args ...string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), commandLimit)
	defer cancel()
	cmd := k.commandContext(ctx, dsn, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		k.Log(k.unfinished(dsn))
	}
	require.NoError(k, err, "oxbow %s: %s", strings.Join(args, " "), out)
}

// unfinished tells of the jobs that are left, and of what the server is at.
func (k *killing) unfinished(dsn string) (lines string) {
	conn := k.connect(dsn)
	defer conn.Close(context.Background())
	require.NoError(k, conn.QueryRow(k.Context(), `
		select coalesce(string_agg(line, E'\n'), 'no jobs, no connections') from (
		  select concat_ws(' ', 'job', kind, state, 'attempt', attempt, 'of', max(attempted_at), 'due', min(scheduled_at), 'times', count(*))
		    from oxbow.river_job where state <> 'completed' group by kind, state, attempt
		  union all
		  select concat_ws(' ', 'leader', leader_id, expires_at) from oxbow.river_leader
		  union all
		  select concat_ws(' ', 'connection', application_name, state, wait_event_type, wait_event, now() - xact_start, left(query, 100))
		    from pg_stat_activity where datname = current_database()) l(line)`).Scan(&lines))
	return lines
}

func (k *killing) exec(dsn, sql string) {
	k.Helper()
	_, err := k.keep(dsn).Exec(k.Context(), sql)
	require.NoError(k, err, sql)
}

func (k *killing) count(dsn, sql string) (n int) {
	k.Helper()
	require.NoError(k, k.keep(dsn).QueryRow(k.Context(), "select count(*) from "+sql).Scan(&n), sql)
	return n
}

// keep returns a connection that stays open, for one goroutine at a time.
func (k *killing) keep(dsn string) *pgx.Conn {
	k.Helper()
	if conn := k.kept[dsn]; conn != nil && !conn.IsClosed() {
		return conn
	}
	if k.kept == nil {
		k.kept = map[string]*pgx.Conn{}
	}
	conn := k.connect(dsn)
	k.kept[dsn] = conn
	k.Cleanup(func() { _ = conn.Close(context.Background()) }) // its server may have been stopped
	return conn
}

func (k *killing) connect(dsn string) *pgx.Conn {
	k.Helper()
	conn, err := pgx.Connect(k.Context(), dsn)
	require.NoError(k, err)
	return conn
}

// prepare imports the records and embeds them, while the queue of reflections is paused. It returns the end of the day of
// the last memory.
func (k *killing) prepare(records string) (now string) {
	k.oxbow(k.dsn, "import", records)
	conn := k.connect(k.dsn)
	require.NoError(k, conn.QueryRow(k.Context(), "select to_char(max(valid_at) at time zone 'UTC', 'YYYY-MM-DD') from oxbow.memories").Scan(&now))
	conn.Close(context.Background())
	k.exec(k.dsn, `insert into oxbow.river_queue (name, paused_at, updated_at) values ('reflect', now(), now())
		on conflict (name) do update set paused_at = now()`)
	worker := k.command(k.dsn, "work", "--now", now)
	require.NoError(k, worker.Start())
	require.Eventually(k, func() bool {
		return k.count(k.dsn, `oxbow.river_job where kind in ('embed', 'check_trigger') and state <> 'completed'`) == 0
	}, 10*time.Minute, 200*time.Millisecond)
	require.NoError(k, worker.Process.Signal(os.Interrupt))
	require.NoError(k, worker.Wait())
	k.exec(k.dsn, `update oxbow.river_queue set paused_at = null`)
	k.exec(k.dsn, `analyze`)
	require.Positive(k, k.count(k.dsn, `oxbow.river_job where kind = 'reflect' and state = 'available'`))
	require.Zero(k, k.count(k.dsn, `oxbow.trait_events`))
	return now
}

// clone copies the database.
func (k *killing) clone(name string) string {
	u, err := url.Parse(k.dsn)
	require.NoError(k, err)
	source := strings.TrimPrefix(u.Path, "/")
	name = source + "_" + name
	server := *u
	server.Path = "/postgres"
	if conn := k.kept[k.dsn]; conn != nil {
		require.NoError(k, conn.Close(k.Context())) // what is copied has no connections
	}
	k.exec(server.String(), fmt.Sprintf("create database %s template %s", pgx.Identifier{name}.Sanitize(), pgx.Identifier{source}.Sanitize()))
	k.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), server.String())
		require.NoError(k, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), fmt.Sprintf("drop database %s with (force)", pgx.Identifier{name}.Sanitize()))
		require.NoError(k, err)
	})
	u.Path = "/" + name
	return u.String()
}

// killOnTheWay starts a worker, and kills it at a random moment after it began to reflect, again and again. It returns how
// many reflections were interrupted.
func (k *killing) killOnTheWay(dsn, now string, kills int, calmly time.Duration) (running int) {
	for range kills {
		worker := k.command(dsn, "work", "--now", now)
		require.NoError(k, worker.Start())
		deadline := time.Now().Add(20 * time.Second)
		left := func() int {
			return k.count(dsn, `oxbow.river_job where kind in ('reflect', 'contradiction_review') and state in ('available', 'running', 'retryable')`)
		}
		for k.count(dsn, `oxbow.river_job where kind in ('reflect', 'contradiction_review') and state = 'running'`) == 0 && left() > 0 && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(k.random.Float64() * float64(calmly) / float64(kills)))
		require.NoError(k, worker.Process.Kill())
		_ = worker.Wait() // it was killed
		require.Eventually(k, func() bool {
			return k.count(dsn, `pg_stat_activity where application_name like 'oxbow worker%' and datname = current_database()`) == 0
		}, 2*time.Minute, 10*time.Millisecond)
		// What the next worker would do of itself, 45 seconds later: elect itself, and rescue the jobs of the dead one.
		running += k.count(dsn, `oxbow.river_job where kind in ('reflect', 'contradiction_review') and state = 'running'`)
		k.exec(dsn, `delete from oxbow.river_leader; update oxbow.river_job set state = 'available' where state = 'running'`)
	}
	return running
}

// traits is all that reflection wrote, without ids and the columns of the wall clock.
func (k *killing) traits(dsn string) (lines []string) {
	const name = `(select coalesce(t.trait_key, '') || ': ' || t.content from oxbow.memories_trait t where t.user_id = %[1]s.user_id and t.id = %[1]s.%[2]s)`
	trait := func(table, column string) string { return fmt.Sprintf(name, table, column) }
	conn := k.connect(dsn)
	defer conn.Close(context.Background())
	for _, sql := range []string{
		`select jsonb_build_array('trait', m.user_id, m.trait_key, m.content, m.valid_at, m.expired_at is null, m.trait_subtype, m.trait_stage,
		        m.trait_confidence, m.trait_confidence_at, m.trait_context, m.trait_contexts, ` + trait("m", "trait_parent_id") + `,
		        m.trait_reinforcement_count, m.trait_contradiction_count, m.trait_first_observed, m.trait_last_reinforced, m.trait_window_start,
		        m.trait_window_end, m.trait_next_transition_at, m.trait_review_due_at, m.trait_derived_from, m.version, m.metadata) from oxbow.memories_trait m`,
		`select jsonb_build_array('evidence', e.user_id, ` + trait("e", "trait_id") + `, e.direction, e.memory_type,
		        case e.memory_type when 'trait' then ` + trait("e", "memory_id") + ` else e.memory_id::text end, e.quality,
		        case e.memory_type when 'trait' then '' else e.session_key end, e.context, e.stated, e.observed_at, e.timezone, e.event_seq) from oxbow.trait_evidence e`,
		`select jsonb_build_array('event', e.user_id, ` + trait("e", "trait_id") + `, e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.subtype,
		        e.window_end, e.confidence, e.stage, e.actor, e.reason, e.details - 'parent' - 'version') from oxbow.trait_events e`,
		`select jsonb_build_array('clue', user_id, key, content, memory_type, memory_id, session_key, context, stated, observed_at, against) from oxbow.trait_clues`,
		// what triggered a cycle depends on when it was asked; what it came to does not
		`select jsonb_build_array('cycle', user_id, memories_scanned, traits_created, traits_updated, traits_dissolved, status, reasoner, now, count(*))
		   from oxbow.reflection_cycles group by user_id, memories_scanned, traits_created, traits_updated, traits_dissolved, status, reasoner, now`,
		`select jsonb_build_array('inbox', user_id, memory_type, memory_id) from oxbow.reflection_inbox`,
	} {
		rows, err := conn.Query(k.Context(), "select line::text from ("+sql+") q(line) order by 1")
		require.NoError(k, err)
		some, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(k, err)
		lines = append(lines, some...)
	}
	return lines
}

// lives is a file of the memories of people with habits, tastes and changes of mind, in English and Chinese.
func lives(people, memories int) string {
	habits := [][]string{
		{"Went climbing at the hall with Noor.", "Climbing again tonight, the blue route at last.", "I like ramen more than any other soup.", "Had ramen near the station.",
			"Played chess in the park.", "Worked on the report until late.", "Read a novel on the train.", "I no longer go climbing.", "I am a rather quiet person."},
		{"晚上去打羽毛球了。", "今天又和老陈打羽毛球。", "中午吃了牛肉面。", "我很喜欢吃牛肉面。", "周末去钓鱼，天气很好。", "加班写报告到很晚。", "我比较内向。", "我不再打羽毛球了。", "在家看电影。"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2025, 1, 1, 8, 0, 0, 0, time.UTC)
	var b strings.Builder
	for p := range people {
		for i := range memories {
			texts := habits[p%len(habits)]
			at := begin.Add(time.Duration(i) * 10 * time.Hour)
			fmt.Fprintf(&b, `{"type":"memory","user":"person%d","id":"%d","session":"s%d","seq":%d,"role":"user","at":%q,"content":%q}`+"\n",
				p, i, i/4, i, at.Format(time.RFC3339), fmt.Sprintf("%s (%d)", texts[random.IntN(len(texts))], i))
		}
	}
	return b.String()
}
