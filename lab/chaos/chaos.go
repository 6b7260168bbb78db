// Package chaos runs applications and workers against its own PostgreSQL while it kills processes and disturbs
// connections and providers, and checks at the end that no data is lost or wrong. The seed decides the actions and
// their times. It does not decide how the processes interleave, so a failed seed may have to run more than once to fail
// again.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds a plan that must run to completion.
const patience = 10 * time.Minute

// Options select the run.
type Options struct {
	Seed     uint64
	Duration time.Duration // of the faults, without the time to recover
	Binary   string        // oxbow, built with the tag "failpoints" if workers are to be killed at named points
	Hurry    bool          // requeue the jobs of killed workers at once, without waiting for the rescuer
	// Patient lets every client complete its plan, even if that takes longer than Duration.
	Patient bool
	Out     io.Writer // the report
	Notes   io.Writer // progress of the run

	parent string // of the directory of the run; "": that of temporary files
}

// Violation is a violation of an invariant.
type Violation struct {
	Check    string
	User     string
	ID       string // of the affected row
	Where    string
	Expected string
	Found    string
}

func (v Violation) String() string {
	var b strings.Builder
	b.WriteString(v.Check)
	for _, part := range []struct{ name, text string }{{"user", v.User}, {"id", v.ID}, {"in", v.Where},
		{"expected", v.Expected}, {"found", v.Found}} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n    %-9s %s", part.name, shorten(part.text))
		}
	}
	return b.String()
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 400 {
		return string(r[:400]) + " …"
	}
	return s
}

// Result is the outcome of a run.
type Result struct {
	Violations []Violation
	Dir        string // with the logs, after a run that failed
}

// run is the state of one run.
type run struct {
	options  Options
	plan     Plan
	dir      string
	notes    *os.File
	log      *slog.Logger
	ledger   *ledger
	postgres *postgres
	proxy    *proxy
	provider *provider
	crew     *crew // the workers
	servers  *crew
	api      *api
	begun    time.Time

	mu         sync.Mutex
	violations []Violation
	held       []net.Conn // of hostile clients
	faults     map[string]int
	points     map[string]int // workers that were killed there
	complaints map[string]int
	strategies map[string]int // at the end, by state
	checks     []checked
}

var discard = slog.New(slog.DiscardHandler)

// Run runs a seed. Violations are in the result; an error means that the run itself failed.
func Run(ctx context.Context, o Options) (result Result, err error) {
	r, err := newRun(o)
	if err != nil {
		return result, err
	}
	defer func() {
		keep := err != nil || len(result.Violations) > 0
		if cleared := r.clear(context.WithoutCancel(ctx), keep); err == nil {
			err = cleared
		}
		if keep {
			result.Dir = r.dir
		}
	}()
	fmt.Fprintf(o.Out, "seed %d, %s, plan %s: %d actions of %d clients, %d faults, %d workers at first%s\n", o.Seed,
		o.Duration, r.plan.Digest(), r.plan.actionCount(),
		clients, len(r.plan.Faults), r.plan.Workers, map[bool]string{true: ", schema of the previous version",
			false: ""}[r.plan.Behind])
	for _, step := range []func(context.Context) error{r.begin, r.disturb, r.heal, r.check} {
		if err := step(ctx); err != nil {
			return result, err
		}
	}
	r.report(o.Out)
	result.Violations = r.violations
	return result, ctx.Err()
}

// newRun creates the directory of a run.
func newRun(o Options) (*run, error) {
	r := &run{options: o, plan: NewPlan(o.Seed, o.Duration), ledger: newLedger(), faults: map[string]int{},
		points: map[string]int{}, complaints: map[string]int{}, strategies: map[string]int{}}
	var err error
	if r.dir, err = os.MkdirTemp(o.parent, "oxbow-chaos-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(r.dir, 0o755); err != nil { // PostgreSQL may run as another user
		return nil, err
	}
	if r.notes, err = os.Create(filepath.Join(r.dir, "driver.log")); err != nil {
		return nil, err
	}
	r.log = slog.New(slog.NewTextHandler(r.notes, nil))
	return r, nil
}

func (r *run) violate(v Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, v)
	r.log.Error("violation", "check", v.Check, "user", v.User, "id", v.ID, "in", v.Where, "expected", v.Expected,
		"found", v.Found)
}

func (r *run) note(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[fault]++
}

func (r *run) reached(point string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, _, _ := strings.Cut(point, ":")
	r.points[name]++
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.options.Notes, "%6.1f s  %s\n", time.Since(r.begun).Seconds(), fmt.Sprintf(format, args...))
	r.log.Info(fmt.Sprintf(format, args...))
}

// begin starts PostgreSQL, the proxy and the provider, and migrates.
func (r *run) begin(ctx context.Context) (err error) {
	r.begun = time.Now()
	if r.postgres, err = startPostgres(ctx, r.dir); err != nil {
		return err
	}
	socket, err := r.postgres.socket()
	if err != nil {
		return err
	}
	if r.proxy, err = startProxy(r.dir, socket); err != nil {
		return err
	}
	if r.provider, err = startProvider(r.violate); err != nil {
		return err
	}
	if r.api, err = openAPI(); err != nil {
		return err
	}
	r.crew = &crew{run: r, name: "worker", login: workerRole, slots: make([]slot, workers), program: r.workerProgram}
	r.servers = &crew{run: r, name: "server", login: serverRole, slots: make([]slot, servers), program: r.serverProgram}
	if err := r.oxbow(ctx, "migrate", "up"); err != nil {
		return err
	}
	if err := r.oxbow(ctx, "reembed"); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version int
	if err := conn.QueryRow(ctx, `select version from oxbow.schema_version`).Scan(&version); err != nil {
		return err
	}
	for _, sql := range []string{
		`create role ` + appRole + ` login in role oxbow_app`,
		`create role ` + workerRole + ` login in role oxbow_worker`,
		`create role ` + serverRole + ` login in role oxbow_app, oxbow_operator`,
		// conversations that are over soon, and summaries of short ones
		`insert into oxbow.settings (key, value)
			values ('conversations', '{"quiet_seconds": 1, "messages": 8, "summary_after": 6}')
		 on conflict (key) do update set value = oxbow.settings.value || excluded.value`,
		`insert into oxbow.settings (key, value) values ('vector_index', '{"policy": "auto", "from": 100, "most": 8}')
		 on conflict (key) do update set value = excluded.value`,
		`insert into oxbow.job_schedules (kind, schedule) values ('molt', '10 seconds'), ('flush_activity', '10 seconds')`,
		// the bonus for recent memories is poor, as "answer" uses old ones
		`select oxbow.set_policy('molt_mode', 2), oxbow.set_policy('molt_answers', 8), oxbow.set_policy('molt_sample', 16),
		  oxbow.set_policy('recall_recency', 6)`,
		fmt.Sprintf(`insert into oxbow.webhooks (url, secret) values ('%s/webhook', '\x%x')`, r.provider.url(), webhookSecret),
		// A worker whose clock is a year ahead would keep less of everything. lab/kill kills the upkeep of levels.
		`select oxbow.set_policy('level_summary_days', 36500), oxbow.set_policy('merge_archive_days', 36500)`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	if err := r.past(ctx, conn); err != nil {
		return err
	}
	if r.plan.Behind {
		return r.oxbow(ctx, "migrate", "down", "--yes", "--to", fmt.Sprint(version-1))
	}
	return nil
}

// past stores some weeks of a habit for every user, so that traits form soon.
func (r *run) past(ctx context.Context, conn *pgx.Conn) error {
	ids := rand.New(rand.NewPCG(r.plan.Seed, 999))
	for user := range users {
		w := &write{client: -1, action: "past", user: user, outcome: acked}
		topic := topics[user%len(topics)]
		for nth := range pastMemories {
			m := r.ledger.next(user)
			row := &written{mark: m, table: "memories", kind: "episodic", id: randomID(ids),
				content: fmt.Sprintf("%s (%s)", topic.habit, m)}
			w.rows = append(w.rows, row)
			if _, err := conn.Exec(ctx, `insert into oxbow.memories (user_id, id, memory_type, content, session_id,
				valid_at) values ($1, $2, 'episodic', $3, $4, now() - $5 * interval '4 days')`,
				userName(user), row.id, row.content, fmt.Sprintf("past-%d", nth), nth+1); err != nil {
				return err
			}
		}
		r.ledger.add(w)
	}
	return nil
}

const pastMemories = 8

// oxbow runs a command to its end, past the proxy.
func (r *run) oxbow(ctx context.Context, args ...string) error {
	out, err := r.command(ctx, r.postgres.dsn(), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("oxbow %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// disturb runs clients, workers and faults concurrently.
func (r *run) disturb(ctx context.Context) error {
	r.say("begins")
	r.begun = time.Now()
	whole := ctx
	limit := r.plan.Duration
	if r.options.Patient {
		limit = max(limit, patience)
	}
	ctx, cancel := context.WithDeadline(ctx, r.begun.Add(limit))
	defer cancel()
	r.crew.set(ctx, r.plan.Workers)
	r.servers.set(ctx, servers)
	var all sync.WaitGroup
	for n := range clients {
		c, err := r.openClient(ctx, n)
		if err != nil {
			return err
		}
		all.Go(func() {
			defer c.close()
			c.work(ctx, r.begun)
		})
	}
	if r.options.Patient {
		go func() {
			sleep(ctx, r.plan.Duration)
			all.Wait()
			cancel()
		}()
	}
	r.injectAll(ctx)
	all.Wait()
	return whole.Err()
}

// clear stops everything, and removes the directory or leaves the logs in it.
func (r *run) clear(ctx context.Context, keep bool) error {
	var failed []error
	for _, c := range []*crew{r.crew, r.servers} {
		if c != nil {
			c.end(10 * time.Second)
		}
	}
	if r.proxy != nil {
		r.proxy.resume()
		r.proxy.close()
	}
	if r.provider != nil {
		r.provider.close()
	}
	_ = r.notes.Close() // only people read it
	data := filepath.Join(r.dir, "postgres")
	if r.postgres != nil {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		failed = append(failed, r.postgres.stop(ctx))
		if keep {
			failed = append(failed, r.keepLog(filepath.Join(data, "postgres.log")))
		}
	}
	if !keep {
		return errors.Join(append(failed, os.RemoveAll(r.dir))...)
	}
	return errors.Join(append(failed, os.RemoveAll(data), os.RemoveAll(filepath.Join(r.dir, "net")))...)
}

func (r *run) keepLog(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "postgres.log"), text, 0o644)
}
