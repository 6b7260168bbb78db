package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/store"
)

// NewMemory is a memory to store.
type NewMemory = store.NewMemory

// Memory is a stored memory.
type Memory = store.Memory

// TraitState holds the fields that only traits have.
type TraitState = store.TraitState

// Attachment is an image, recording or file that belongs to a memory.
type Attachment = store.Attachment

// MemoryType is one of the four kinds of memory.
type MemoryType = store.MemoryType

// The types of memory.
const (
	TypeFact     = store.Fact     // a discrete, objective statement; a newer fact supersedes it
	TypeEpisodic = store.Episodic // an event
	TypeTrait    = store.Trait    // a lasting quality of a person; only reflection creates traits
	TypeDocument = store.Document // a chunk of a file
)

// Modality is the medium that a memory describes.
type Modality = store.Modality

// The modalities. The content of a memory that is not text is its caption, by which it is found.
const (
	ModalityText  = store.ModalityText
	ModalityImage = store.ModalityImage
	ModalityAudio = store.ModalityAudio
	ModalityVideo = store.ModalityVideo
	ModalityCode  = store.ModalityCode
	ModalityFile  = store.ModalityFile
)

// Category is the subject of a memory. It decides how much the memory matters, how fast its weight fades, and what
// happens to it in a conflict.
type Category = store.Category

// The categories. SQL may store any other text, which stands for one of them: see oxbow.category_names.
const (
	CategoryIdentity         Category = "identity"          // name, birthday, family, home, work, health
	CategoryStablePreference Category = "stable_preference" // lasting tastes and values
	CategoryShortPreference  Category = "short_preference"  // current interests
	CategoryFact             Category = "fact"              // any other fact or event
	CategorySkill            Category = "skill"             // what somebody can do
	CategoryTemporary        Category = "temporary"         // moods, plans and passing states
)

// Remember stores a memory and returns its id. The same transaction enqueues the job that makes it
// recallable; a worker embeds it after the commit. If the user already has a memory of that type with that
// ExternalID, Remember stores nothing and returns the id of that memory. An invalid value is an
// *InvalidError.
//
// If the text contains a secret, such as a password, a client with a Sealer stores it as sensitivity 3, unless
// the memory has a Speaker, Metadata or a Reference, or its Topic contains a secret too. The setting "secrets"
// can refuse secrets in all of these: the *InvalidError names the field and the kinds of secrets.
func (c *Client) Remember(ctx context.Context, m NewMemory) (_ uuid.UUID, err error) {
	ctx, end := c.span(ctx, "Remember")
	defer end(&err)
	ids, err := c.rememberMany(ctx, []NewMemory{m})
	if err != nil {
		return uuid.Nil, plain(err)
	}
	return ids[0], nil
}

// RememberMany is Remember for many memories, of any users, in a few statements. It stores all or none, and
// returns the ids in the order of the memories. An invalid value is an *InvalidError with the Index of the
// first invalid memory; nothing is sent to the database then.
func (c *Client) RememberMany(ctx context.Context, memories []NewMemory) (_ []uuid.UUID, err error) {
	ctx, end := c.span(ctx, "RememberMany", attribute.Int("oxbow.memories", len(memories)))
	defer end(&err)
	return c.rememberMany(ctx, memories)
}

func (c *Client) rememberMany(ctx context.Context, memories []NewMemory) ([]uuid.UUID, error) {
	if len(memories) == 0 {
		return nil, nil
	}
	batch, err := c.batch(ctx, memories)
	if err != nil {
		return nil, err
	}
	added, err := c.insert(ctx, batch)
	if err != nil {
		return nil, err
	}
	if added < int64(len(memories)) {
		for _, user := range batch.Users() {
			if err := c.on(ctx, user, func(db pgx.Tx) error { return batch.Resolve(ctx, db, user) }); err != nil {
				return nil, err
			}
		}
	}
	return batch.IDs, nil
}

// batch validates memories, and seals or refuses those that contain a secret.
func (c *Client) batch(ctx context.Context, memories []NewMemory) (*store.Batch, error) {
	batch, err := store.NewBatch(memories, c.sealer)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	return batch.SealSecrets(ctx, c.conn())
}

// insert stores a batch. A single statement needs a transaction only if it is traced. It never needs
// oxbow.user_id, because a role that may insert may insert for any user.
func (c *Client) insert(ctx context.Context, batch *store.Batch) (added int64, err error) {
	if c.tx != nil {
		if err := c.nameTrace(ctx); err != nil {
			return 0, err
		}
		return batch.Insert(ctx, c.tx)
	}
	if batch.Statements() == 1 && traceparent(ctx) == "" {
		return batch.Insert(ctx, c.db)
	}
	err = c.inTx(ctx, traced(ctx), func(db pgx.Tx) error {
		added, err = batch.Insert(ctx, db)
		return err
	})
	return added, err
}

// Get returns a memory of the user, even if it is forgotten (ForgottenAt) or superseded (ExpiredAt).
// ErrNotFound if the user has no such memory. The client's Sealer opens a memory of sensitivity 3; if it
// cannot, Get returns the memory with the text "[sealed]", together with ErrSealed.
func (c *Client) Get(ctx context.Context, userID string, id uuid.UUID) (Memory, error) {
	m, err := inUser(ctx, c, userID, func(tx pgx.Tx) (Memory, error) { return store.GetMemory(ctx, tx, userID, id) })
	if err == nil {
		err = m.Open(c.sealer)
	}
	return m, err
}
