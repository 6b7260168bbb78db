package oxbow

import "github.com/oxbow-memory/oxbow/store"

// InvalidError reports a value that cannot be stored or asked for. It names the field, the value and the rule, and the
// index in RememberMany or the line in an import.
type InvalidError = store.InvalidError

// Errors for errors.Is. The text of the error that wraps one names the memory or the database, and says what to do.
var (
	// ErrNotFound reports that the user has no such memory. It is the same if another user has it.
	ErrNotFound = store.ErrNotFound
	// ErrSuperseded reports that the memory is an older version. The error names the newer one.
	ErrSuperseded = store.ErrSuperseded
	// ErrForgotten reports that the memory is forgotten. Restore it first.
	ErrForgotten = store.ErrForgotten
	// ErrNotForgotten reports that the memory is not forgotten, so that it cannot be restored.
	ErrNotForgotten = store.ErrNotForgotten
	// ErrNotTrait reports that the memory is a fact, an episode or a document, where a trait is needed.
	ErrNotTrait = store.ErrNotTrait
	// ErrNoReceipt reports that the proof belongs to no erasure, or to that of another user or memory.
	ErrNoReceipt = store.ErrNoReceipt
	// ErrSealed reports that the text of a memory or a message is sealed, and the client has no key that opens it.
	ErrSealed = store.ErrSealed
	// ErrDenied reports that the database role lacks a right, or may see another user only.
	ErrDenied = store.ErrDenied
	// ErrNotMigrated reports that the database has no Oxbow schema.
	ErrNotMigrated = store.ErrNotMigrated
	// ErrBehind reports that the schema of the database is older than this program.
	ErrBehind = store.ErrBehind
	// ErrAhead reports that the schema of the database is newer than this program.
	ErrAhead = store.ErrAhead
	// ErrNoExtension reports that pgvector is not installed in the database.
	ErrNoExtension = store.ErrNoExtension
	// ErrUnreachable reports that a connection to the database failed or broke.
	ErrUnreachable = store.ErrUnreachable
)

// ModelMismatchError reports that the embedder of the client is not the one that made the vectors of the database.
type ModelMismatchError = store.ModelMismatchError

// EmbeddingModel is the model of an embedder, and the length of its vectors.
type EmbeddingModel = store.EmbeddingModel
