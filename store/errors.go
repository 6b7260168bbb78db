package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Errors to compare with errors.Is. The text of the wrapping error says what to do.
var (
	// ErrNotFound reports that the user has no such memory, whether or not another user has it.
	ErrNotFound = errors.New("no such memory")
	// ErrSuperseded reports that a newer version replaced the memory. The error names the newer
	// version.
	ErrSuperseded = errors.New("the memory is already superseded")
	// ErrForgotten reports that the memory is forgotten. Restore it before changing it.
	ErrForgotten = errors.New("the memory is forgotten")
	// ErrNotForgotten reports that the memory cannot be restored because it is not forgotten.
	ErrNotForgotten = errors.New("the memory is not forgotten")
	// ErrNotTrait reports that the memory is not a trait.
	ErrNotTrait = errors.New("the memory is not a trait")
	// ErrNoFile reports that the user has no such file.
	ErrNoFile = errors.New("no such file")
	// ErrNoReceipt reports that the receipt belongs to no erasure, or to one of another user or
	// memory.
	ErrNoReceipt = errors.New("no such receipt")
	// ErrNoAnswer reports that the user has no such answer.
	ErrNoAnswer = errors.New("no such answer")
	// ErrNoAdjustment reports that the user has no such adjustment.
	ErrNoAdjustment = errors.New("no such adjustment")
	// ErrNoInstruction reports that the user has no such instruction.
	ErrNoInstruction = errors.New("no such instruction")
	// ErrNoSkill reports that the user has no such skill.
	ErrNoSkill = errors.New("no such skill")
	// ErrNoIntention reports that the user has no such intention.
	ErrNoIntention = errors.New("no such intention")
	// ErrNoWebhook reports that no such webhook exists.
	ErrNoWebhook = errors.New("no such webhook")
	// ErrNoStrategy reports that no such strategy exists, or that it is not adopted.
	ErrNoStrategy = errors.New("no such strategy")
	// ErrDenied reports that the database role lacks a privilege or may only see another user.
	ErrDenied = errors.New("the database refuses access")
	// ErrNotMigrated reports that the database has no Oxbow schema.
	ErrNotMigrated = errors.New("the database has no Oxbow schema")
	// ErrBehind reports that the schema of the database is older than this program.
	ErrBehind = errors.New("the database is older than this program")
	// ErrAhead reports that the schema of the database is newer than this program.
	ErrAhead = errors.New("the database is newer than this program")
	// ErrNoExtension reports that pgvector is not installed in the database.
	ErrNoExtension = errors.New("the PostgreSQL extension vector is missing")
	// ErrUnreachable reports that a connection to the database failed or broke.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrReadOnly reports that the database currently accepts no writes, as during a failover. Reading works.
	ErrReadOnly = errors.New("the database is read-only")
	// ErrBusy reports that the database aborted a statement that may succeed later: it conflicted with another
	// transaction, took too long, or lacked memory or disk space.
	ErrBusy = errors.New("the database cannot do this now")
)

// IsRetryable reports whether the operation that failed with err may succeed if it is repeated unchanged a little
// later. Its transaction changed nothing, unless the connection was lost during the commit.
func IsRetryable(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrReadOnly) || errors.Is(err, ErrBusy) || retryable(code(err))
}

// retryable reports whether an error code of PostgreSQL describes a temporary condition.
func retryable(code string) bool {
	return slices.Contains([]error{ErrUnreachable, ErrReadOnly, ErrBusy}, known[code].err) || strings.HasPrefix(code, "08")
}

// notFound returns ErrNotFound for a memory of a user.
func notFound(userID string, id uuid.UUID) error {
	return fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
}

// InvalidError reports a value that cannot be stored or queried.
type InvalidError struct {
	// Index is the position in RememberMany or AddMessages, from 0, or -1 elsewhere.
	Index int
	// Line is the line of the import, from 1, or 0 elsewhere.
	Line int
	// Field is the name of the field in the database, such as "importance". It is "" if a whole
	// import line is invalid.
	Field string
	// Value is the invalid value, shortened if it is long.
	Value string
	// Rule is the rule that the value breaks, such as "must be between 0 and 1".
	Rule string
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Index >= 0 {
		fmt.Fprintf(&b, "item %d: ", e.Index)
	}
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	b.WriteString(e.Rule)
	if e.Value != "" {
		b.WriteString(", got " + e.Value)
	}
	return b.String()
}

// known maps error codes of PostgreSQL and of sql/code to errors and their remedies.
var known = map[string]struct {
	err  error
	todo string
}{
	"OX101": {ErrNotFound, ""},
	"OX102": {ErrSuperseded, ""},
	"OX103": {ErrForgotten, ""},
	"OX104": {ErrNotForgotten, ""},
	"OX105": {ErrNotTrait, ""},
	"OX110": {ErrNoFile, ""},
	"OX120": {ErrNoKey, ""},
	"OX130": {ErrNoAnswer, ""},
	"OX131": {ErrNoAdjustment, ""},
	"OX132": {ErrNoInstruction, ""},
	"OX133": {ErrNoSkill, ""},
	"OX134": {ErrNoIntention, ""},
	"OX135": {ErrNoWebhook, ""},
	"OX136": {ErrNoStrategy, ""},
	"42501": {ErrDenied, "connect as a member of oxbow_worker or of the schema's owner"},
	"3F000": {ErrNotMigrated, "run oxbow migrate up"},                     // invalid_schema_name
	"42P01": {ErrNotMigrated, "run oxbow migrate up"},                     // undefined_table
	"42883": {ErrBehind, "run oxbow migrate up"},                          // undefined_function
	"42703": {ErrBehind, "run oxbow migrate up"},                          // undefined_column
	"3D000": {ErrUnreachable, "create the database, or name another one"}, // invalid_catalog_name
	"28P01": {ErrUnreachable, "check the password in DATABASE_URL"},
	"28000": {ErrUnreachable, "check the user in DATABASE_URL, and pg_hba.conf"},
	"53300": {ErrUnreachable, "there are too many connections: use fewer, or raise max_connections"},
	"57P01": {ErrUnreachable, "the connection was closed: try again"},
	"57P02": {ErrUnreachable, "PostgreSQL crashed: try again"},
	"57P03": {ErrUnreachable, "PostgreSQL is starting or stopping: try again"},
	"25006": {ErrReadOnly, "try again after the failover, or name the primary in DATABASE_URL"},
	"40001": {ErrBusy, "it met another transaction: try again"}, // serialization_failure
	"40P01": {ErrBusy, "it met another transaction: try again"}, // deadlock_detected
	"53100": {ErrBusy, "make room on the disk of PostgreSQL, and try again"},
	"53200": {ErrBusy, "PostgreSQL needs more memory: try again"},
	"55P03": {ErrBusy, "another transaction holds a lock: try again"},
	"57014": {ErrBusy, "the statement took too long or was cancelled: try again"},
}

// Explain maps a PostgreSQL error to a typed error that says what to do, and pgx.ErrNoRows to
// ErrNotFound. It returns nil and any other error unchanged.
func Explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, done := errors.AsType[*explained](err); done {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return explainConnection(err)
	}
	if pg.Code == "23514" && pg.ColumnName != "" { // raised by oxbow.reject
		return &InvalidError{Index: -1, Field: pg.ColumnName, Value: secrets.Mask(rejectedValue(pg.Detail)),
			Rule: strings.TrimPrefix(pg.Message, pg.ColumnName+" ")}
	}
	if slices.Contains([]string{"22021", "22P05", "22008"}, pg.Code) { // text with NUL or not UTF-8, or an impossible time
		return &InvalidError{Index: -1, Rule: pg.Message}
	}
	if pg.Code == "08P01" && pg.Message == "invalid message format" { // of the simple protocol, which text with NUL ends
		return &InvalidError{Index: -1, Rule: "text must not contain NUL"}
	}
	k, ok := known[pg.Code]
	if !ok && retryable(pg.Code) {
		k.err, ok = ErrUnreachable, true // of class 08
	}
	if !ok {
		return explainConnection(err)
	}
	todo := k.todo
	if strings.HasSuffix(pg.Message, "for schema oxbow") {
		todo = "connect as a member of oxbow_app, of oxbow_worker or of the schema's owner"
	} else if strings.Contains(pg.Message, "for schema ") { // pgvector's
		todo = "run oxbow migrate up, which grants its use or prints the statement"
	}
	if pg.Hint != "" && pg.Code != "42883" { // PostgreSQL's hint for 42883 is about type casts
		todo = pg.Hint
	}
	text := pg.Message
	if pg.Detail != "" {
		text += " (" + continued(pg.Detail) + ")"
	}
	if todo != "" {
		text += ": " + continued(todo)
	}
	text = secrets.Mask(text)
	return &explained{text: text, is: k.err, cause: err}
}

// continued turns a sentence of PostgreSQL into a part of one.
func continued(sentence string) string {
	first, rest, _ := strings.Cut(strings.TrimSuffix(sentence, "."), " ")
	if first != "" && strings.ToLower(first[1:]) == first[1:] { // not OXBOW_KEYSET
		first = strings.ToLower(first[:1]) + first[1:]
	}
	return strings.TrimSpace(first + " " + rest)
}

// code returns the SQLSTATE of an error of PostgreSQL, or "" for any other error.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

func explainConnection(err error) error {
	var connect *pgconn.ConnectError
	var network net.Error
	// A connection that breaks during a statement gives the errors of its next read.
	broken := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed)
	if errors.As(err, &connect) || errors.As(err, &network) || broken {
		return &explained{text: fmt.Sprintf("%v: %v: check that PostgreSQL runs and that DATABASE_URL names it",
			ErrUnreachable, err),
			is: ErrUnreachable, cause: err}
	}
	return err
}

// rejectedValue extracts the value from the detail that oxbow.reject writes.
func rejectedValue(detail string) string {
	for _, prefix := range []string{"The value is ", "The value "} {
		if rest, ok := strings.CutPrefix(detail, prefix); ok {
			rest = strings.TrimSuffix(rest, ".")
			if text, ok := strings.CutPrefix(rest, "'"); ok && strings.HasSuffix(text, "'") {
				return strconv.Quote(strings.ReplaceAll(text[:len(text)-1], "''", "'"))
			}
			return rest
		}
	}
	return detail
}

// explained is an error with a readable text and its cause.
type explained struct {
	text      string
	is, cause error
}

func (e *explained) Error() string   { return e.text }
func (e *explained) Unwrap() []error { return []error{e.is, e.cause} }
