package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// run is a database with the messages, and the program that works on it.
type run struct {
	ctx      context.Context
	dsn      string
	pool     *pgxpool.Pool
	client   *oxbow.Client
	program  string
	reasoner []string // environment
	verbose  bool
	patience time.Duration
	people   int          // of four, half of them Chinese
	health   string       // what the doctor found while the last worker ran
	log      bytes.Buffer // of the workers
	messages int
	served   served
}

func newRun(ctx context.Context, dsn string, verbose bool) *run {
	pool := must.Get(pgxpool.New(ctx, dsn))
	r := &run{ctx: ctx, dsn: dsn, pool: pool, client: must.Get(oxbow.New(pool, oxbow.WithoutUseReports())),
		program: must.Get(program.Build(ctx)), verbose: verbose,
		served: served{refused: map[string]int{}, fixed: map[string]fixed{}}}
	r.served.isMerged = func(text string) bool {
		return number[int64](r, `select count(*) from oxbow.memories
			where source = 'merge' and expired_at is null and metadata #>> '{merged,text}' = $1`, text) > 0
	}
	return r
}

// oxbow runs the program and returns what it prints.
func (r *run) oxbow(env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, r.program, append(args, "--database-url", r.dsn)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = r.stderr()
	printed, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("oxbow %s: %w", strings.Join(args, " "), err)
	}
	return string(printed), err
}

func (r *run) stderr() io.Writer {
	if r.verbose {
		return io.MultiWriter(&r.log, os.Stderr)
	}
	return &r.log
}

func (r *run) exec(sql string, args ...any) int64 {
	return must.Get(r.pool.Exec(r.ctx, sql, args...)).RowsAffected()
}

// number returns the number that a query selects.
func number[N int64 | float64](r *run, sql string, args ...any) N {
	return must.Get(pgx.CollectExactlyOneRow(must.Get(r.pool.Query(r.ctx, sql, args...)), pgx.RowTo[N]))
}

// habits gives Mia, and Lin if there are four people, a trait that a later memory contradicts, by the rules.
func (r *run) habits() {
	habits := []struct{ user, kept, broken string }{
		{"mia", "I go for a run every morning before work.", "I no longer run in the morning."},
		{"lin", "我每天早上都去跑步。", "我不再早上跑步了。"},
	}[:r.people/2]
	for _, habit := range habits {
		at := time.Date(2026, 1, 5, 7, 0, 0, 0, time.UTC)
		for day := range 10 {
			text := habit.kept
			if day == 9 {
				text = habit.broken
			}
			must.Get(r.client.Remember(r.ctx, oxbow.NewMemory{UserID: habit.user, Type: "episodic", Content: text,
				SessionID: fmt.Sprint("habit-", day), ValidAt: at.AddDate(0, 0, 3*day)}))
		}
	}
	must.Get(r.oxbow(nil, "work", "--until-idle"))
	for _, habit := range habits {
		must.Get(r.oxbow(nil, "reflect", habit.user))
	}
}

// remember stores what an application would, so that there is something to resolve, merge, draw conclusions from and
// reflect on, whatever the model makes of the messages.
func (r *run) remember() {
	for _, known := range []struct {
		users    []string
		lunches  [4]string
		replaced [4]string
	}{
		{[]string{"mia", "tom"}, [4]string{"Lunch with Nora at the canteen: tomato soup.", "Had tomato soup for lunch with Nora at the canteen.",
			"Tomato soup for lunch again, with Nora at the canteen.", "At the canteen with Nora for lunch: tomato soup."},
			[4]string{"Works as a teacher at the school in Leeds.", "Works as a head teacher at the school in Leeds now.",
				"The favourite drink is black coffee.", "The favourite drink is green tea, not black coffee."}},
		{[]string{"lin", "chen"}, [4]string{"中午和小王在食堂吃了番茄鸡蛋面。", "今天中午又和小王在食堂吃番茄鸡蛋面。",
			"和小王在食堂吃午饭，番茄鸡蛋面。", "午饭还是食堂的番茄鸡蛋面，和小王一起。"},
			[4]string{"在杭州的一家设计公司上班。", "现在在上海的一家设计公司上班。", "最喜欢喝的是黑咖啡。", "最喜欢喝的是绿茶，不再喝黑咖啡。"}},
	} {
		for _, user := range known.users[:r.people/2] {
			at := time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)
			for i := range known.lunches {
				day := at.AddDate(0, 0, 2*i)
				must.Get(r.client.Remember(r.ctx, oxbow.NewMemory{UserID: user, Type: "episodic", Content: known.lunches[i],
					SessionID: fmt.Sprint("lunch-", i), ValidAt: day}))
				must.Get(r.client.Remember(r.ctx, oxbow.NewMemory{UserID: user, Type: "fact", Content: known.replaced[i], ValidAt: day}))
			}
		}
	}
}

// say stores the messages, and ends their conversations.
func (r *run) say(all []oxbow.NewMessage) {
	must.Get(r.client.AddMessages(r.ctx, all))
	r.exec(`select oxbow.end_session(user_id, id) from oxbow.sessions where ended_at is null`)
	r.messages = len(all)
}

// due makes due what a user would wait for: reviews of facts and of contradicted traits, and nights.
func (r *run) due() {
	r.exec(`update oxbow.memories_trait set trait_review_due_at = now() where exists (
	          select from oxbow.trait_evidence e
	           where e.user_id = memories_trait.user_id and e.trait_id = memories_trait.id and e.direction = 'contradicting')`)
	// Some facts were used a lot, the others not for long.
	r.exec(`update oxbow.memories_fact set review_at = now(), strength = case when length(content) % 2 = 0 then 2.6 else 0.4 end
	         where expired_at is null and forgotten_at is null`)
	r.exec(`select oxbow.set_policy('quiet_from', 3), oxbow.set_policy('quiet_to', 3)`) // always
	r.exec(`update oxbow.nights set due_at = now()`)
	must.Get(r.oxbow(nil, "jobs", "run", "sweep"))
}

// unfinished counts the jobs of users, and messages, that a worker has not come to the end of. The sweep enqueues some.
const unfinished = `select (select count(*) from oxbow.river_job
	                     where (args ->> 'user_id' is not null or kind = 'sweep') and state not in ('completed', 'cancelled', 'discarded'))
	                 + (select count(*) from oxbow.messages where extracted_at is null)`

// work runs a worker until nothing waits, or the patience is over. What would be retried later is retried soon.
func (r *run) work() {
	cmd := exec.CommandContext(r.ctx, r.program, "work", "--database-url", r.dsn)
	cmd.Env = append(os.Environ(), r.reasoner...)
	cmd.Stderr = r.stderr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	must.OK(cmd.Start())
	defer func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(r.patience); time.Now().Before(end) && number[int64](r, unfinished) > 0; {
		r.exec(`update oxbow.river_job set scheduled_at = now() + interval '5 seconds'
		         where state in ('scheduled', 'retryable') and scheduled_at > now() + interval '15 seconds'`)
		select {
		case <-r.ctx.Done():
			must.OK(r.ctx.Err())
		case <-time.After(time.Second):
		}
	}
	r.health, _ = r.oxbow(nil, "doctor", "--json") // it fails because of the settings
}
