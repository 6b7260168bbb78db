package oxbow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/store"
)

// The capacity of a working memory: 7 ± 2 items.
const (
	minWorking     = 5
	defaultWorking = 7
	maxWorking     = 9
)

// defaultImportance is the importance of a memory without one.
const defaultImportance = 0.5

// WorkingItem is an item of the current conversation. Only Content is required; a zero value is the default.
type WorkingItem struct {
	// Key identifies the item within its working memory. Default: Content.
	Key string
	// Content, Type (TypeFact or TypeEpisodic; default TypeFact), Importance (0 to 1, default 0.5), ValidAt,
	// Speaker, Category and Metadata become those of the memory when the item is committed.
	Content    string
	Type       MemoryType
	Importance *float64
	ValidAt    time.Time
	Speaker    string
	Category   Category
	Metadata   any
	// Rehearsals counts how often the item came up again. Add ignores it.
	Rehearsals int
}

// WorkingMemory holds the few items of the current conversation in the memory of this process. It belongs to
// one session of one user, and is safe for concurrent use. An item that is evicted, or present when the
// process ends, is lost unless Client.CommitWorkingMemory has stored it.
type WorkingMemory struct {
	userID, sessionID string
	capacity          int

	mu    sync.Mutex
	items []*heldItem // the oldest first
}

type heldItem struct {
	WorkingItem
	name      string  // the ExternalID of its memory
	committed string  // the name under which it was last committed
	weight    float64 // see Weigh
}

// NewWorkingMemory returns an empty working memory. userID has 1 to 255 bytes, sessionID 1 to 1024 bytes.
// capacity is 5 to 9 items; 0 means 7. An invalid value is an *InvalidError.
func NewWorkingMemory(userID, sessionID string, capacity int) (*WorkingMemory, error) {
	if capacity == 0 {
		capacity = defaultWorking
	}
	if capacity < minWorking || capacity > maxWorking {
		return nil, store.Invalid("capacity", capacity, "must be between 5 and 9")
	}
	if sessionID == "" {
		return nil, store.Invalid("session_id", sessionID, "must have 1 to 1024 bytes")
	}
	w := &WorkingMemory{userID: userID, sessionID: sessionID, capacity: capacity}
	if _, err := store.NewBatch([]NewMemory{w.memory(WorkingItem{Content: "any"}, "")}, nil); err != nil {
		return nil, plain(err)
	}
	return w, nil
}

// Add adds an item. If the working memory is full, Add evicts and returns the item with the smallest product of its weight
// and 1 + its rehearsals, the oldest of equals. An item with the key of another replaces it in place, which counts as a
// rehearsal; the importance never decreases. An invalid value is an *InvalidError.
func (w *WorkingMemory) Add(item WorkingItem) (evicted *WorkingItem, err error) {
	if item.Type == "" {
		item.Type = TypeFact
	}
	if item.Type != TypeFact && item.Type != TypeEpisodic {
		return nil, store.Invalid("memory_type", item.Type, "must be fact or episodic")
	}
	name := w.name(item)
	if _, err := store.NewBatch([]NewMemory{w.memory(item, name)}, nil); err != nil {
		return nil, plain(err)
	}
	// The encoded copy cannot be changed by the caller.
	if metadata, err := store.ValidateMetadata(item.Metadata); err != nil {
		return nil, err
	} else if item.Metadata = nil; metadata != nil {
		item.Metadata = metadata
	}
	importance := defaultImportance
	if item.Importance != nil {
		importance = *item.Importance
	}
	item.Importance = &importance
	item.Key = cmp.Or(item.Key, item.Content)

	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.find(item.Key); i >= 0 {
		old := w.items[i]
		item.Rehearsals = old.Rehearsals + 1
		importance = max(importance, *old.Importance)
		w.items[i] = &heldItem{item, name, old.committed, 1}
		return nil, nil
	}
	if len(w.items) == w.capacity {
		out := w.weakest()
		evicted = new(w.items[out].copy())
		w.items = slices.Delete(w.items, out, out+1)
	}
	item.Rehearsals = 0
	w.items = append(w.items, &heldItem{WorkingItem: item, name: name, weight: 1})
	return evicted, nil
}

// Rehearse counts another occurrence of an item. It reports whether the key exists.
func (w *WorkingMemory) Rehearse(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.find(key)
	if i >= 0 {
		w.items[i].Rehearsals++
	}
	return i >= 0
}

// Weigh multiplies the temporary weight of an item, which begins at 1, by a factor from 0 to 10: below 1 if an answer
// that rested on it failed, above 1 if one helped (U §6). For eviction and for CommitWorkingMemory, rehearsals and
// importance are multiplied by the weight. The weight is not stored, and Add with the item's key resets it. It reports
// whether the key exists. A factor out of range is an *InvalidError.
func (w *WorkingMemory) Weigh(key string, factor float64) (bool, error) {
	if !(factor >= 0 && factor <= 10) {
		return false, store.Invalid("factor", factor, "must be between 0 and 10")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.find(key)
	if i >= 0 {
		w.items[i].weight = min(w.items[i].weight*factor, 10)
	}
	return i >= 0, nil
}

// Remove removes an item. It reports whether the key existed. A committed memory stays.
func (w *WorkingMemory) Remove(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.find(key)
	if i >= 0 {
		w.items = slices.Delete(w.items, i, i+1)
	}
	return i >= 0
}

// Items returns the items, oldest first. Their Metadata is a json.RawMessage.
func (w *WorkingMemory) Items() []WorkingItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	items := make([]WorkingItem, len(w.items))
	for i, held := range w.items {
		items[i] = held.copy()
	}
	return items
}

// Render returns the items as lines for a prompt, oldest first, each with its speaker if it has one. Line
// breaks and control characters become spaces, so that one item cannot look like two.
func (w *WorkingMemory) Render() string {
	var out strings.Builder
	for _, item := range w.Items() {
		out.WriteString("- ")
		if speaker := oneline.Of(item.Speaker); speaker != "" {
			out.WriteString(speaker + ": ")
		}
		out.WriteString(oneline.Of(item.Content) + "\n")
	}
	return out.String()
}

// CommitOptions selects the items of a working memory to store. The zero value uses the defaults.
type CommitOptions struct {
	// MinRehearsals is the number of rehearsals from which an item is stored. Default: 2.
	MinRehearsals int
	// MinImportance is the importance from which an item is stored without rehearsals, 0 to 1. Default: 0.6.
	MinImportance float64
	// AgentID is the agent of the memories.
	AgentID string
	// Source is the source of the memories. Default: "working_memory".
	Source string
}

func (o CommitOptions) withDefaults() (CommitOptions, error) {
	if o.MinRehearsals < 0 {
		return o, store.Invalid("min_rehearsals", o.MinRehearsals, "must not be negative")
	}
	if !(o.MinImportance >= 0 && o.MinImportance <= 1) { // also rejects NaN
		return o, store.Invalid("min_importance", o.MinImportance, "must be between 0 and 1")
	}
	o.MinRehearsals = cmp.Or(o.MinRehearsals, 2)
	o.MinImportance = cmp.Or(o.MinImportance, 0.6)
	o.Source = cmp.Or(o.Source, "working_memory")
	return o, nil
}

// CommittedItem is a stored item.
type CommittedItem struct {
	WorkingItem
	ID uuid.UUID // of the memory
}

// CommitWorkingMemory stores the rehearsed or important items as memories of the user and the session, all or
// none, and returns those that it stored, oldest first. Each item is stored once, even if commits run
// concurrently or are repeated: the ExternalID is a hash of session, type and content. If the content is sealed
// because it contains a secret, the hash is keyed with the client's Sealer. The items stay in the working
// memory. An invalid value is an *InvalidError.
func (c *Client) CommitWorkingMemory(ctx context.Context, w *WorkingMemory,
	options CommitOptions) (written []CommittedItem, err error) {
	ctx, end := c.span(ctx, "CommitWorkingMemory")
	defer end(&err)
	if w == nil {
		return nil, errors.New("oxbow: CommitWorkingMemory: the working memory is nil")
	}
	options, err = options.withDefaults()
	if err != nil {
		return nil, err
	}
	due := w.due(options)
	if len(due) == 0 {
		return nil, nil
	}
	memories := make([]NewMemory, len(due))
	for i, held := range due {
		memories[i] = w.memory(held.WorkingItem, held.name)
		memories[i].AgentID, memories[i].Source = options.AgentID, options.Source
	}
	batch, err := c.batch(ctx, memories)
	if err == nil && c.sealer != nil {
		batch, err = batch.Rename(func(name string) string { // a PIN can be guessed from an unkeyed hash
			return "working:" + c.sealer.Name(name)
		})
	}
	if err != nil {
		return nil, plain(err)
	}
	ids := slices.Clone(batch.IDs)
	err = c.InTx(ctx, w.userID, func(tx pgx.Tx) error {
		added, err := batch.Insert(ctx, tx)
		if err != nil || added == int64(len(memories)) {
			return err
		}
		return batch.Resolve(ctx, tx, w.userID)
	})
	if err != nil {
		return nil, err
	}
	if c.tx == nil { // the caller's transaction may still roll back
		w.markCommitted(due)
	}
	for i, held := range due {
		if batch.IDs[i] == ids[i] {
			written = append(written, CommittedItem{held.WorkingItem, ids[i]})
		}
	}
	return written, nil
}

// due returns copies of the items to store.
func (w *WorkingMemory) due(o CommitOptions) []heldItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []heldItem
	for _, held := range w.items {
		if held.committed != held.name &&
			(held.weight*float64(held.Rehearsals) >= float64(o.MinRehearsals) ||
				held.weight**held.Importance >= o.MinImportance) {
			due = append(due, heldItem{held.copy(), held.name, "", 1})
		}
	}
	return due
}

// markCommitted marks the stored items under the stored names: an item may have been replaced meanwhile.
func (w *WorkingMemory) markCommitted(written []heldItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, held := range written {
		if i := w.find(held.Key); i >= 0 {
			w.items[i].committed = held.name
		}
	}
}

// memory returns the memory that an item becomes.
func (w *WorkingMemory) memory(item WorkingItem, name string) NewMemory {
	return NewMemory{
		UserID: w.userID, SessionID: w.sessionID, ExternalID: name, Content: item.Content, Type: item.Type,
		Importance: item.Importance,
		ValidAt:    item.ValidAt, Speaker: item.Speaker, Category: item.Category, Metadata: item.Metadata,
	}
}

// name returns the ExternalID of an item's memory, which is the same in every commit.
func (w *WorkingMemory) name(item WorkingItem) string {
	// NUL separates the parts: no part contains it.
	sum := sha256.Sum256([]byte(w.sessionID + "\x00" + string(item.Type) + "\x00" + item.Content))
	return "working:" + hex.EncodeToString(sum[:16])
}

func (w *WorkingMemory) find(key string) int {
	return slices.IndexFunc(w.items, func(held *heldItem) bool { return held.Key == key })
}

// weakest returns the index of the item to evict, see Add.
func (w *WorkingMemory) weakest() int {
	out := 0
	strength := func(i int) float64 { return w.items[i].weight * float64(1+w.items[i].Rehearsals) }
	for i := range w.items {
		if strength(i) < strength(out) {
			out = i
		}
	}
	return out
}

func (h *heldItem) copy() WorkingItem {
	item := h.WorkingItem
	item.Importance = new(*item.Importance)
	if raw, ok := item.Metadata.(json.RawMessage); ok {
		item.Metadata = slices.Clone(raw)
	}
	return item
}

// plain removes the index from an error about one memory.
func plain(err error) error {
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		bad.Index = -1
	}
	return err
}
