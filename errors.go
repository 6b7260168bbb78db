package oxbow

import "github.com/oxbow-memory/oxbow/store"

// InvalidError is a value that cannot be stored or asked for: it names the field, the value and the rule, in
// RememberMany the index, in an import the line.
type InvalidError = store.InvalidError

// For errors.Is. The text of the error that wraps one says which memory or database it is, and what to do.
var (
	// ErrNotFound: the user has no such memory. Whether another user has it is not told.
	ErrNotFound = store.ErrNotFound
	// ErrSuperseded: the memory is an older version; the error names the newer one.
	ErrSuperseded = store.ErrSuperseded
	// ErrForgotten: the memory is forgotten, and must be restored first.
	ErrForgotten = store.ErrForgotten
	// ErrNotForgotten: there is nothing to restore.
	ErrNotForgotten = store.ErrNotForgotten
	// ErrNotTrait: the memory is a fact, an episode or a document, and what was asked for concerns traits.
	ErrNotTrait = store.ErrNotTrait
	// ErrNoReceipt: nothing was erased with that proof, or it was of another user or memory.
	ErrNoReceipt = store.ErrNoReceipt
	// ErrSealed: the text of a memory or a message is sealed, and the client has no key that opens it.
	ErrSealed = store.ErrSealed
	// ErrDenied: the database role may not do this, or may see another user only.
	ErrDenied = store.ErrDenied
	// ErrNotMigrated: the database has no Oxbow schema.
	ErrNotMigrated = store.ErrNotMigrated
	// ErrBehind: the database's schema is older than this program.
	ErrBehind = store.ErrBehind
	// ErrAhead: the database's schema is newer than this program.
	ErrAhead = store.ErrAhead
	// ErrNoExtension: pgvector is not installed in the database.
	ErrNoExtension = store.ErrNoExtension
	// ErrUnreachable: there is no connection to the database, or it broke.
	ErrUnreachable = store.ErrUnreachable
)

// ModelMismatchError is returned by Recall when the client's embedder is not the one that made the database's vectors.
type ModelMismatchError = store.ModelMismatchError

// EmbeddingModel is the model of an embedder, and the length of its vectors.
type EmbeddingModel = store.EmbeddingModel
