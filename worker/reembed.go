package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	// reembedRest is the number of memories without a new vector below which the worker embeds the rest.
	reembedRest = 200
	// reembedRounds limits the passes over all memories, in case they arrive as fast as they are embedded.
	reembedRounds = 5
	// reembedLockTime limits how long one attempt to exchange the tables blocks other transactions.
	reembedLockTime = 500 * time.Millisecond
	// reembedTries is how often an invalid answer of the provider is retried.
	reembedTries = 5
	// reembedMargin is the assumed maximum age of a transaction whose memories the last pass could
	// not see. The job sweep finds memories of older transactions.
	reembedMargin = time.Hour
)

// ReembedProgress is the progress of Reembed.
type ReembedProgress struct {
	Resumed bool  // an interrupted run is continued
	Round   int   // 1, 2, …: each is a pass over all memories
	Total   int64 // memories at the start of the round
	Looked  int64 // memories examined in this round
	Made    int64 // vectors made in all rounds
	Refused int64 // texts that the provider refused
	Waiting error // why Reembed waits for the provider or a lock; nil if it does not
}

// ReembedResult is the result of Reembed.
type ReembedResult struct {
	From, To store.EmbeddingModel
	Made     int64
	Refused  int64
	// Left is the number of memories stored during the exchange; each has a job to embed it.
	Left int64
}

// ErrSameModel reports that the database already uses the model.
var ErrSameModel = errors.New("the database already uses this model")

// Reembed changes the embedding model of the database to that of cfg, while applications and workers
// run. It fills a second table with new vectors, and then exchanges the tables in a short transaction.
// If it is interrupted before the exchange, the old vectors stay in use, and the next call with the
// same model continues. Reembed waits while the provider is down. ErrSameModel if there is nothing to do.
//
// Workers with the old model stop embedding at the exchange. Start workers with the new model after it.
func Reembed(ctx context.Context, cfg Config, report func(ReembedProgress)) (ReembedResult, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return ReembedResult{}, &ConfigError{err}
	}
	made, err := cfg.openEmbedder()
	if err != nil {
		return ReembedResult{}, &ConfigError{err}
	}
	if err := cfg.checkDatabase(ctx, nil); err != nil {
		return ReembedResult{}, err
	}
	pool, err := cfg.openPool(ctx)
	if err != nil {
		return ReembedResult{}, err
	}
	defer pool.Close()
	r := &reembed{
		cfg: cfg, pool: pool, embedder: embedder{made}, report: report,
		model: store.ModelOf(made),
	}
	return r.run(ctx)
}

type reembed struct {
	cfg      Config
	pool     *pgxpool.Pool
	embedder embedder
	model    store.EmbeddingModel
	report   func(ReembedProgress)
	progress ReembedProgress
}

func (r *reembed) run(ctx context.Context) (ReembedResult, error) {
	result := ReembedResult{To: r.model}
	release, err := r.alone(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	if result.From, err = store.CurrentModel(ctx, r.pool); err != nil {
		return result, err
	}
	if result.From == r.model {
		return result, fmt.Errorf("%w: %s", ErrSameModel, r.model)
	}
	same := result.From
	if same.QueryPrefix = r.model.QueryPrefix; same == r.model { // the vectors of memories stay the same
		return result, store.WriteSetting(ctx, r.pool, store.EmbeddingKey, r.model)
	}
	err = r.retry(ctx, func() error { // a mistake in the configuration shows before anything changes
		_, _, err := jobs.Vectors(ctx, r.embedder, []string{"How are you?"})
		return err
	})
	if err != nil {
		return result, err
	}
	err = r.retry(ctx, func() (err error) {
		r.progress.Resumed, err = store.BeginReembed(ctx, r.pool, r.model, reembedLockTime)
		return err
	})
	if err != nil {
		return result, err
	}
	since, err := r.fill(ctx)
	if err != nil {
		return result, err
	}
	err = r.retry(ctx, func() (err error) {
		result.Left, err = store.FinishReembed(ctx, r.pool, r.model, since.Add(-reembedMargin), reembedLockTime)
		return err
	})
	result.Made, result.Refused = r.progress.Made, r.progress.Refused
	return result, err
}

// alone takes the lock that excludes other reembeds, and checks that the role owns the tables.
func (r *reembed) alone(ctx context.Context) (release func(), err error) {
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var got, owner bool
	var ownerName, user string
	err = conn.QueryRow(ctx, `
		select pg_try_advisory_lock(hashtextextended('oxbow.reembed', 0)), pg_has_role(c.relowner, 'USAGE'),
		       c.relowner::regrole::text, current_user
		  from pg_class c where c.oid = 'oxbow.memories'::regclass`).Scan(&got, &owner, &ownerName, &user)
	switch {
	case err != nil:
	case !owner:
		err = fmt.Errorf("reembed must own the tables, and %s does not: connect as %s", user, ownerName)
	case !got:
		err = errors.New("another reembed is running on this database")
	default:
		return func() {
			_ = conn.Conn().Close(context.WithoutCancel(ctx)) // releases the lock
			conn.Release()
		}, nil
	}
	_ = conn.Conn().Close(context.WithoutCancel(ctx))
	conn.Release()
	return nil, err
}

// fill passes over the memories until few lack a new vector, and returns when the last pass began. A
// resumed first pass starts in the middle and so misses earlier memories stored meanwhile: its count
// does not end the loop.
func (r *reembed) fill(ctx context.Context) (time.Time, error) {
	for r.progress.Round = 1; ; r.progress.Round++ {
		var begun time.Time
		if err := r.pool.QueryRow(ctx, `select now()`).Scan(&begun); err != nil {
			return begun, err
		}
		found, err := r.walk(ctx)
		whole := r.progress.Round > 1 || !r.progress.Resumed
		if err != nil || (whole && found < reembedRest) || r.progress.Round == reembedRounds {
			return begun, err
		}
	}
}

// walk passes over all memories once and returns how many lacked a new vector. A first pass that was
// interrupted continues at its last position.
func (r *reembed) walk(ctx context.Context) (found int64, err error) {
	if r.progress.Total, err = store.CountMemories(ctx, r.pool); err != nil {
		return 0, err
	}
	r.progress.Looked = 0
	if r.progress.Round > 1 {
		beginning := store.Reembedding{EmbeddingModel: r.model}
		if err := store.WriteSetting(ctx, r.pool, store.ReembedKey, beginning); err != nil {
			return 0, err
		}
	}
	for {
		todo, looked, next, err := store.ReembedPage(ctx, r.pool, r.model, r.cfg.reembedPage)
		if err != nil {
			return found, err
		}
		if looked == 0 {
			return found, nil
		}
		if err := r.page(ctx, todo, next); err != nil {
			return found, err
		}
		found += int64(len(todo))
		r.progress.Looked += int64(looked)
		r.tell(nil)
	}
}

// page makes the vectors of a page with several concurrent calls, and stores them together with the position.
func (r *reembed) page(ctx context.Context, todo []store.Unreembedded, next store.Reembedding) error {
	todo, err := jobs.HideSecrets(ctx, r.pool, todo, func(m store.Unreembedded) (store.MemoryRef, string) {
		return store.MemoryRef{UserID: m.UserID, ID: m.ID}, m.Text
	})
	if err != nil {
		return err
	}
	calls := r.calls(todo)
	results := make([][][]float32, len(calls))
	reasons := make([][]string, len(calls))
	err = r.retry(ctx, func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(r.cfg.Concurrency)
		for i, call := range calls {
			if results[i] != nil {
				continue // made in an earlier try
			}
			group.Go(func() (err error) {
				results[i], reasons[i], err = r.call(ctx, call)
				return err
			})
		}
		return group.Wait()
	})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		for i, call := range calls {
			if err := r.save(ctx, tx, call, results[i], reasons[i]); err != nil {
				return err
			}
		}
		return store.WriteSetting(ctx, tx, store.ReembedKey, next)
	})
}

func (r *reembed) calls(todo []store.Unreembedded) [][]store.Unreembedded {
	return jobs.Calls(todo, r.cfg.callTexts(), func(m store.Unreembedded) int { return len(m.Text) })
}

func (r *reembed) call(ctx context.Context,
	call []store.Unreembedded) (vectors [][]float32, reasons []string, err error) {
	texts := make([]string, len(call))
	for i, m := range call {
		texts[i] = m.Text
	}
	return jobs.Vectors(ctx, r.embedder, texts)
}

func (r *reembed) save(ctx context.Context, tx pgx.Tx, call []store.Unreembedded, vectors [][]float32,
	reasons []string) error {
	refused := int64(0)
	var made []store.Unreembedded
	for i, m := range call {
		if vectors[i] == nil {
			refused++
			ref := store.MemoryRef{UserID: m.UserID, ID: m.ID}
			if err := store.RefuseVector(ctx, tx, r.model.Model, ref, reasons[i]); err != nil {
				return err
			}
		} else {
			made = append(made, m)
		}
	}
	r.progress.Refused, r.progress.Made = r.progress.Refused+refused, r.progress.Made+int64(len(made))
	vectors = slices.DeleteFunc(vectors, func(v []float32) bool { return v == nil })
	return store.WriteReembedded(ctx, tx, made, vectors)
}

// retry retries after an unavailable provider, a lock timeout or an invalid answer.
func (r *reembed) retry(ctx context.Context, try func() error) error {
	invalid := 0
	for failures := 0; ; failures++ {
		err := try()
		var down *jobs.UnavailableError
		var failed *embedding.Error
		pause := min(time.Second<<min(failures, 6), time.Minute)
		switch {
		case err == nil:
			if failures > 0 {
				r.tell(nil)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &down):
			pause = max(pause, down.RetryAfter)
		case store.IsLockTimeout(err), store.IsDeadlock(err):
			pause = min(pause, 5*time.Second)
		case errors.As(err, &failed) && invalid < reembedTries:
			invalid++
		default:
			return err
		}
		r.tell(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause + rand.N(pause/10+time.Millisecond)):
		}
	}
}

func (r *reembed) tell(waiting error) {
	if r.report != nil {
		r.progress.Waiting = waiting
		r.report(r.progress)
	}
}
