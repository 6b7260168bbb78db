package oxbow

import "github.com/oxbow-memory/oxbow/store"

// InvalidError reports an invalid value. It names the field, the value and the rule, and the index in
// RememberMany or the line in an import.
type InvalidError = store.InvalidError

// Errors for errors.Is. The wrapping error names the memory or the database and says what to do.
var (
	// ErrNotFound reports that the user has no such memory, even if another user does.
	ErrNotFound = store.ErrNotFound
	// ErrSuperseded reports that the memory has a newer version, which the error names.
	ErrSuperseded = store.ErrSuperseded
	// ErrForgotten reports that the memory is forgotten. Restore it first.
	ErrForgotten = store.ErrForgotten
	// ErrNotForgotten reports that the memory is not forgotten and so cannot be restored.
	ErrNotForgotten = store.ErrNotForgotten
	// ErrNotTrait reports that the memory is not a trait.
	ErrNotTrait = store.ErrNotTrait
	// ErrNoReceipt reports that the proof does not belong to an erasure of that user or memory.
	ErrNoReceipt = store.ErrNoReceipt
	// ErrNoAnswer reports that the user has no such answer, or no longer (policy answer_days).
	ErrNoAnswer = store.ErrNoAnswer
	// ErrNoAdjustment reports that the user has no such adjustment.
	ErrNoAdjustment = store.ErrNoAdjustment
	// ErrNoInstruction reports that the user has no such instruction.
	ErrNoInstruction = store.ErrNoInstruction
	// ErrNoSkill reports that the user has no such skill.
	ErrNoSkill = store.ErrNoSkill
	// ErrNoIntention reports that the user has no such intention.
	ErrNoIntention = store.ErrNoIntention
	// ErrSealed reports that the client has no key for a sealed memory or message.
	ErrSealed = store.ErrSealed
	// ErrDenied reports that the database role lacks a privilege, or may only see another user.
	ErrDenied = store.ErrDenied
	// ErrNotMigrated reports that the database has no Oxbow schema.
	ErrNotMigrated = store.ErrNotMigrated
	// ErrBehind reports that the schema of the database is older than this program.
	ErrBehind = store.ErrBehind
	// ErrAhead reports that the schema of the database is newer than this program.
	ErrAhead = store.ErrAhead
	// ErrNoExtension reports that pgvector is not installed in the database.
	ErrNoExtension = store.ErrNoExtension
	// ErrUnreachable reports that the connection to the database failed.
	ErrUnreachable = store.ErrUnreachable
	// ErrReadOnly reports that the database currently accepts no writes, as during a failover. Reading works.
	ErrReadOnly = store.ErrReadOnly
	// ErrBusy reports that the database aborted a statement that may succeed later: it conflicted with another
	// transaction, took too long, or lacked memory or disk space.
	ErrBusy = store.ErrBusy
)

// IsRetryable reports whether the operation that failed with err may succeed if it is repeated unchanged a little
// later. Its transaction changed nothing, unless the connection was lost during the commit.
func IsRetryable(err error) bool { return store.IsRetryable(err) }

// ModelMismatchError reports that the client's embedder is not the model of the database's vectors.
type ModelMismatchError = store.ModelMismatchError

// EmbeddingModel is an embedder's model and the length of its vectors.
type EmbeddingModel = store.EmbeddingModel
