package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// injectAll injects the faults of the plan. A long fault does not delay the next ones.
func (r *run) injectAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, f := range r.plan.Faults {
		if !sleep(ctx, time.Until(r.begun.Add(f.At))) {
			break
		}
		r.note(f.Kind)
		all.Go(func() {
			r.log.Info("fault", "kind", f.Kind, "slot", f.Slot, "point", f.Point, "nth", f.Nth, "for", f.For)
			// a fault completes even after the end of the run
			if err := r.inject(context.WithoutCancel(ctx), f); err != nil {
				r.log.Info("the fault met another one", "kind", f.Kind, "error", err)
				r.note(f.Kind + ", which met another fault")
			}
		})
	}
	<-ctx.Done()
	all.Wait()
}

func (r *run) inject(ctx context.Context, f Fault) error {
	switch f.Kind {
	case "worker killed":
		r.crew.restart(f.Slot, syscall.SIGKILL, "", "")
	case "worker killed at a point":
		r.crew.restart(f.Slot, syscall.SIGKILL, fmt.Sprintf("%s:%d", f.Point, 1+f.Nth/3), "")
	case "worker stopped":
		r.crew.restart(f.Slot, syscall.SIGTERM, "", "")
	case "server killed":
		r.servers.restart(f.Slot%servers, syscall.SIGKILL, "", "")
	case "server stopped":
		r.servers.restart(f.Slot%servers, syscall.SIGTERM, "", "")
	case "number of workers":
		r.crew.set(ctx, f.Nth)
		if f.Nth == 0 {
			sleep(ctx, f.For)
			r.crew.set(ctx, r.plan.Workers)
		}
	case "worker with another clock":
		r.crew.restart(f.Slot, syscall.SIGTERM, "", time.Now().AddDate(0, 0, f.Nth).UTC().Format(time.RFC3339))
	case "PostgreSQL stopped at once":
		return r.postgres.crash(ctx, f.For/2, r.ledger.crash)
	case "backend killed":
		defer func() {
			sleep(ctx, 2*time.Second) // until the server has noticed, and recovered
			r.ledger.crash()
		}()
		return r.postgres.killBackend(ctx, f.Nth)
	case "backends terminated":
		return r.postgres.terminate(ctx, f.Nth)
	case "connections cut":
		r.proxy.cut(f.Nth)
	case "answers lost":
		r.proxy.deafen(f.Nth, f.For/2)
	case "network stalled":
		r.proxy.stall(f.For)
	case "embedding provider":
		r.provider.fail("embedding", f.Point, f.For)
	case "chat provider":
		r.provider.fail("chat", f.Point, f.For)
	case "webhook":
		r.provider.fail("webhook", f.Point, 4*f.For) // something is due every few seconds
	case "burst":
		return r.burst(ctx, f)
	case "hostile client":
		return r.hostile(ctx, f)
	case "migration":
		return r.migrate(ctx, f)
	default:
		return fmt.Errorf("unknown fault %q", f.Kind)
	}
	return nil
}

// burst fills the queue with thousands of memories of steady users, one statement for each user.
func (r *run) burst(ctx context.Context, f Fault) error {
	conn, err := pgx.Connect(ctx, r.proxy.dsn(ownerRole))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// without this setting the next worker decides at once which users get a vector index
	if _, err := conn.Exec(ctx, `delete from oxbow.settings where key = 'vector_index.looked'`); err != nil {
		return err
	}
	ids := rand.New(rand.NewPCG(r.plan.Seed, uint64(f.At)))
	for n := range f.Nth {
		user := n % clients * usersAClient
		w := &write{client: -1, action: "burst", user: user}
		var rows, texts []string
		for i := range burstMemories / f.Nth {
			m := r.ledger.next(user)
			row := &written{mark: m, table: "memories", kind: "episodic", id: randomID(ids),
				content: memoryText(m, uint32(i)*256)}
			w.rows = append(w.rows, row)
			rows, texts = append(rows, row.id.String()), append(texts, row.content)
		}
		_, err := conn.Exec(ctx, `insert into oxbow.memories (user_id, id, memory_type, content)
			select $1, id, 'episodic', content from unnest($2::uuid[], $3::text[]) n(id, content)`,
			userName(user), rows, texts)
		w.outcome = judge(err)
		r.ledger.add(w)
		r.ledger.note("burst", w.outcome.String())
		if err != nil {
			return err
		}
	}
	return nil
}

// migrate upgrades as an operator does: it migrates in several places at once while workers restart. It kills one of
// the migrations.
func (r *run) migrate(ctx context.Context, f Fault) error {
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return err
	}
	// as if functions and triggers had changed
	_, err = conn.Exec(ctx, `update oxbow.installed_code set checksum = 'of another version'
		where hashtext(name) % 3 = $1 % 3`, f.Nth)
	conn.Close(ctx)
	if err != nil {
		return err
	}
	first := r.command(ctx, r.proxy.dsn(ownerRole), "migrate", "up")
	first.Env = append(first.Env, fmt.Sprintf("%s=%s:%d", failpoint.Variable, failpoint.MigrateStep, f.Nth))
	if err := first.Start(); err != nil {
		return err
	}
	r.crew.restart(f.Slot, syscall.SIGKILL, "", "")
	r.crew.restart((f.Slot+1)%workers, syscall.SIGTERM, "", "")
	if err := first.Wait(); err != nil {
		r.log.Info("a migration ended", "how", err)
		if status, ok := first.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			r.reached(failpoint.MigrateStep)
		}
	}
	var both sync.WaitGroup
	var errs [2]error
	for i := range errs {
		both.Go(func() {
			out, err := r.command(ctx, r.proxy.dsn(ownerRole), "migrate", "up").CombinedOutput()
			if err != nil {
				errs[i] = fmt.Errorf("migrate up: %w: %s", err, out)
			}
		})
	}
	both.Wait()
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}
