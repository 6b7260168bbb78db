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

// outcome is what a client knows of what it did.
type outcome int

const (
	never   outcome = iota // nobody tried
	failed                 // for certain, it had no effect
	unknown                // the answer was lost: it had its whole effect, or none
	acked
)

func (o outcome) String() string { return [...]string{"never", "failed", "unknown", "acknowledged"}[o] }

// judge tells what is known after a statement, or several of one transaction that commits itself,
// ended with an error. What pgconn.SafeToRetry says is not asked: pgx 5.12 says so too ("conn
// closed") where a connection ends before the answer to COMMIT.
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

// errAbandoned is what a client ends a transaction with that it was to roll back.
var errAbandoned = errors.New("rolled back by the client")

// written is one row that a client wrote.
type written struct {
	write   *write
	mark    mark
	table   string // memories, messages, sensory
	kind    string // of a memory
	id      uuid.UUID
	content string

	erased     outcome
	forgotten  outcome // acked: it is hidden; failed: it was restored; unknown: either
	superseded outcome
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
	at      time.Time // when the outcome was known
}

// erasure is an attempt at erasing a user.
type erasure struct {
	user, life int
	outcome    outcome
}

// ledger is what the clients wrote and what they were told. Rows of a user are changed by the one client that the user
// belongs to, which does one thing after the other.
type ledger struct {
	mu       sync.Mutex
	writes   []*write
	erasures []*erasure
	lives    [users]int
	numbers  [users]int
	mine     [users][]*written         // memories that are acknowledged and were not taken away: what can be acted on
	sessions [users][]string           // in which something was said
	traits   map[uuid.UUID]outcome     // whose deletion was tried
	actions  map[string]map[string]int // kind, outcome: number
	crashed  time.Time                 // PostgreSQL, the last time: what is unlogged is empty since
	missed   int                       // actions that were not begun
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
		if row.table == "memories" && w.outcome == acked {
			l.mine[w.user] = append(l.mine[w.user], row)
		}
	}
}

// isGone tells whether a user's life was erased for certain.
func (l *ledger) isGone(user, life int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lifeErased(user, life) == acked
}

// lifeErased tells what is known of the erasure of a user's life.
func (l *ledger) lifeErased(user, life int) outcome {
	for _, e := range l.erasures {
		if e.user == user && e.life == life {
			return e.outcome
		}
	}
	return never
}

// begin records a conversation in which something was said.
func (l *ledger) begin(user int, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.sessions[user], session) {
		l.sessions[user] = append(l.sessions[user], session)
	}
}

// openSession is one of a user's conversations; empty: there is none.
func (l *ledger) openSession(user int, pick uint32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.sessions[user]; len(all) > 0 {
		return all[int(pick%1e6)%len(all)]
	}
	return ""
}

// deleted records that a trait was deleted, or perhaps was.
func (l *ledger) deleted(trait uuid.UUID, how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traits[trait] = how
}

// crash records that what is not logged was lost up to now.
func (l *ledger) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crashed = time.Now()
}

// miss records actions for which there was no time.
func (l *ledger) miss(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed += n
}

// target is one of a user's memories that fits; nil: none does.
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

// set changes what is known of a row.
func (l *ledger) set(of *outcome, to outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*of = to
}

// endLife records that a user was erased, or perhaps was: what is written from now on is of another life.
func (l *ledger) endLife(user int, how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.erasures { // what an earlier one may have left
		if e.user == user && how == acked {
			e.outcome = acked
		}
	}
	l.erasures = append(l.erasures, &erasure{user, l.lives[user], how})
	l.lives[user]++
	l.mine[user] = nil
	l.sessions[user] = nil
}

// transact runs do in a transaction in the name of a user, and tells what became of it.
func transact(ctx context.Context, db oxbow.DB, user string, abandon bool, do func(tx pgx.Tx) error) (outcome, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return failed, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it is over already, or the connection is
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
