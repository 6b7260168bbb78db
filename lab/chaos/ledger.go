package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
)

// outcome is what a client knows about the effect of an action.
type outcome int

const (
	never   outcome = iota // it was not tried
	failed                 // it had no effect
	unknown                // the answer was lost: it had its whole effect, or none
	acked
)

func (o outcome) String() string { return [...]string{"never", "failed", "unknown", "acknowledged"}[o] }

// judge returns the outcome of a statement, or of a transaction, that ended with an error. It does not use
// pgconn.SafeToRetry, which in pgx 5.12 is also true ("conn closed") if a connection ends before the answer to COMMIT.
func judge(err error) outcome {
	var answered *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil:
		return acked
	case errors.As(err, &answered) && answered.Severity == "ERROR":
		return failed
	case errors.As(err, &connect), errors.Is(err, pgx.ErrTxCommitRollback):
		return failed
	case errors.Is(err, oxbow.ErrBehind), errors.Is(err, oxbow.ErrNotMigrated),
		errors.As(err, new(*oxbow.InvalidError)):
		return failed
	}
	return unknown
}

// errAbandoned ends a transaction that the plan rolls back.
var errAbandoned = errors.New("rolled back by the client")

// written is one row that a client wrote.
type written struct {
	write   *write
	mark    mark
	table   string // memories, messages, sensory, feedback_signals, instructions, intentions, skills
	kind    string // of a memory
	id      uuid.UUID
	content string

	erased     outcome
	forgotten  outcome // acked: it is hidden; failed: it was restored; unknown: either
	superseded outcome
	unmerged   outcome
}

// write is one transaction of a client.
type write struct {
	client  int
	nth     int // of the client's actions
	action  string
	user    int
	life    int
	outcome outcome
	rows    []*written
	session string
	key     string    // the Idempotency-Key of a request
	at      time.Time // when the outcome was known
}

// erasure is an attempt at erasing a user.
type erasure struct {
	user, life int
	outcome    outcome
}

// ledger records the clients' writes and their outcomes. One client alone changes the rows of a user, one at a time.
type ledger struct {
	mu         sync.Mutex
	writes     []*write
	erasures   []*erasure
	lives      [users]int
	numbers    [users]int
	mine       [users][]*written         // acknowledged memories of the current life, which actions choose from
	sessions   [users][]string           // with messages
	erasedHome [users]bool               // a memory of a home was erased, and a message may be its source
	traits     map[uuid.UUID]outcome     // of deleting a trait
	actions    map[string]map[string]int // kind, outcome: number
	crashed    time.Time                 // of PostgreSQL's last crash, which emptied unlogged tables
	missed     int                       // actions that did not start
}

func newLedger() *ledger {
	return &ledger{traits: map[uuid.UUID]outcome{}, actions: map[string]map[string]int{}}
}

// next is the mark of another text about a user.
func (l *ledger) next(user int) mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers[user]++
	return mark{user, l.lives[user], l.numbers[user]}
}

func (l *ledger) life(user int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lives[user]
}

// note records how an action ended.
func (l *ledger) note(kind, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.actions[kind] == nil {
		l.actions[kind] = map[string]int{}
	}
	l.actions[kind][how]++
}

// add records a write with its outcome.
func (l *ledger) add(w *write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.at = time.Now()
	l.writes = append(l.writes, w)
	for _, row := range w.rows {
		row.write = w
		if row.table == "memories" && w.outcome == acked && w.key == "" {
			l.mine[w.user] = append(l.mine[w.user], row)
		}
	}
}

// isGone reports whether a user's life was certainly erased.
func (l *ledger) isGone(user, life int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lifeErased(user, life) == acked
}

// lifeErased returns the outcome of erasing a user's life.
func (l *ledger) lifeErased(user, life int) outcome {
	for _, e := range l.erasures {
		if e.user == user && e.life == life {
			return e.outcome
		}
	}
	return never
}

// begin records a conversation with messages.
func (l *ledger) begin(user int, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.sessions[user], session) {
		l.sessions[user] = append(l.sessions[user], session)
	}
}

// openSession returns one of a user's conversations, or "".
func (l *ledger) openSession(user int, pick uint32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.sessions[user]; len(all) > 0 {
		return all[int(pick%1e6)%len(all)]
	}
	return ""
}

// deleted records the outcome of deleting a trait.
func (l *ledger) deleted(trait uuid.UUID, how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traits[trait] = how
}

// crash records that unlogged tables lost their rows.
func (l *ledger) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crashed = time.Now()
}

// miss counts actions that did not start in time.
func (l *ledger) miss(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed += n
}

// target returns one of a user's memories that fits, or nil.
func (l *ledger) target(user int, pick uint32, fits func(*written) bool) *written {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := l.mine[user]
	for i := range rows {
		if row := rows[(int(pick%1e6)+i)%len(rows)]; fits(row) {
			return row
		}
	}
	return nil
}

// set changes an outcome of a row.
func (l *ledger) set(of *outcome, to outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*of = to
}

// endLife records the outcome of erasing a user. Later writes belong to another life.
func (l *ledger) endLife(user int, how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.erasures { // it also completes earlier attempts
		if e.user == user && how == acked {
			e.outcome = acked
		}
	}
	l.erasures = append(l.erasures, &erasure{user, l.lives[user], how})
	l.lives[user]++
	l.mine[user] = nil
	l.sessions[user] = nil
}

// transact runs do in a transaction of a user, and returns its outcome.
func transact(ctx context.Context, db oxbow.DB, user string, abandon bool, do func(tx pgx.Tx) error) (outcome, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return failed, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	if _, err := tx.Exec(ctx, `select set_config('oxbow.user_id', $1, true)`, user); err != nil {
		return failed, err
	}
	if err := do(tx); err != nil {
		return failed, err
	}
	if abandon {
		return failed, errAbandoned
	}
	if tx.Conn().IsClosed() {
		return failed, errors.New("the connection was lost before the commit")
	}
	err = tx.Commit(ctx)
	return judge(err), err
}
