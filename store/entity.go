package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Entity is a person, a place or a thing that memories mention.
type Entity struct {
	ID       uuid.UUID `json:"id"`
	Name     string    `json:"name"` // as first written
	Kind     string    `json:"kind"` // person, place, organization, animal, work, other, or a kind of the application
	Mentions int64     `json:"mentions"`
	Memories int64     `json:"memories"` // memories that name it; a repeated fact is one memory and several mentions
	// ValidAt and CreatedAt are the times the entity was first named, in the world and in the
	// database. InvalidAt and ExpiredAt are the times since which no current memory names it.
	ValidAt   time.Time `json:"valid_at"`
	InvalidAt time.Time `json:"invalid_at,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	ExpiredAt time.Time `json:"expired_at,omitzero"`
	LastSeen  time.Time `json:"last_seen"`
	// Edges holds the current edges, without duplicates, in the result of Entities. In that of
	// EntitiesNamed it holds all edges, the latest first.
	Edges []Edge `json:"edges"`
}

// EntityEnd is one end of an Edge.
type EntityEnd struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Kind string    `json:"kind"` // "self" is the user
}

// Edge is a relation between two entities that a memory states. Its times are those of the memory.
type Edge struct {
	From       EntityEnd `json:"from"`
	Relation   string    `json:"relation"` // From lives_in To; To is the sister of From; related: mentioned together
	To         EntityEnd `json:"to"`
	ValidAt    time.Time `json:"valid_at"`
	InvalidAt  time.Time `json:"invalid_at,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiredAt  time.Time `json:"expired_at,omitzero"`
	MemoryType string    `json:"memory_type"`
	MemoryID   uuid.UUID `json:"memory_id"`
	Holds      bool      `json:"holds"` // whether the relation holds now
}

// Naming is a memory that names an entity.
type Naming struct {
	ID        uuid.UUID `json:"id"`
	Type      string    `json:"memory_type"`
	Content   string    `json:"content"`
	At        time.Time `json:"at"` // when it became true or happened
	InvalidAt time.Time `json:"invalid_at,omitzero"`
	ExpiredAt time.Time `json:"expired_at,omitzero"`
}

// NamedEntity is an entity with the memories that mention it, the latest first.
type NamedEntity struct {
	Entity
	NamedBy []Naming `json:"named_by"`
}

// Entities returns the entities that a user's memories mention, the most frequent first, with their
// current edges.
func Entities(ctx context.Context, db DB, userID string) ([]Entity, error) {
	entities, err := entities(ctx, db, userID, "")
	if err != nil || len(entities) == 0 {
		return entities, err
	}
	edges, err := edges(ctx, db, userID, uuid.Nil)
	if err != nil {
		return nil, err
	}
	at := map[uuid.UUID]int{}
	for i, e := range entities {
		at[e.ID] = i
	}
	type said struct {
		from, to uuid.UUID
		relation string
	}
	seen := map[said]bool{}
	for _, g := range edges {
		this := said{g.From.ID, g.To.ID, g.Relation}
		if !g.Holds || seen[this] {
			continue
		}
		seen[this] = true
		for _, end := range []uuid.UUID{g.From.ID, g.To.ID} {
			if i, ok := at[end]; ok {
				entities[i].Edges = append(entities[i].Edges, g)
			}
		}
	}
	return entities, nil
}

// EntitiesNamed returns the entities with the given name, ignoring case, punctuation and width, with all
// their edges and at most limit memories that mention each. If no entity has that name, it returns
// those whose name begins with it.
func EntitiesNamed(ctx context.Context, db DB, userID, name string, limit int) ([]NamedEntity, error) {
	found, err := entities(ctx, db, userID, name)
	if err != nil {
		return nil, err
	}
	named := make([]NamedEntity, len(found))
	for i, e := range found {
		named[i].Entity = e
		if named[i].Edges, err = edges(ctx, db, userID, e.ID); err != nil {
			return nil, err
		}
		named[i].NamedBy, err = Collect[Naming](ctx, db, `
			select m.id, m.memory_type::text as type, m.content, coalesce(m.valid_at, m.created_at) as at, m.invalid_at,
			       m.expired_at
			  from oxbow.entity_mentions n
			  join oxbow.memories m on m.user_id = $1 and m.memory_type = n.memory_type and m.id = n.memory_id
			 where n.user_id = $1 and n.entity_id = $2 and m.forgotten_at is null and m.sensitivity < 2
			 order by 4 desc, m.seq desc, m.id limit $3`, userID, e.ID, limit)
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// entities returns the user's entities with the given name, or all of them if name is "".
func entities(ctx context.Context, db DB, userID, name string) ([]Entity, error) {
	found, err := Collect[Entity](ctx, db, `
		with found as (
		  select e.*, oxbow.entity_key(e.name) = k.key as exact
		    from oxbow.entities_of($1) e, (select oxbow.entity_key($2) as key) k
		   where $2 = '' or oxbow.entity_key(e.name) = k.key or oxbow.entity_key(e.name) like replace(k.key, '_',
		     '\_') || ' %')
		select id, name, kind, mentions, memories, valid_at, invalid_at, created_at, expired_at, last_seen
		  from found where $2 = '' or exact or not exists (select from found where exact)
		 order by mentions desc, last_seen desc, name, kind`, userID, name)
	for i := range found {
		found[i].Edges = []Edge{}
	}
	return found, err
}

// edges returns the edges of an entity, or all edges of the user if of is uuid.Nil.
func edges(ctx context.Context, db DB, userID string, of uuid.UUID) ([]Edge, error) {
	return Collect[Edge](ctx, db, `
		select json_build_object('id', from_id, 'name', from_name, 'kind', from_kind) as "from", relation,
		       json_build_object('id', to_id, 'name', to_name, 'kind', to_kind) as "to",
		       valid_at, invalid_at, created_at, expired_at, memory_type, memory_id, holds
		  from oxbow.entity_edges_of($1, $2)`, userID, pointer(of))
}

// NoteOldEntities records the entities in memories stored before entities existed. It handles at
// most limit users, continues after them in the next call, and stops after the last user. It
// returns the number of memories recorded.
func NoteOldEntities(ctx context.Context, tx DB, limit int) (noted int, err error) {
	var after *string
	if err := ReadSetting(ctx, tx, sweepEntitiesKey, &after); err != nil || after == nil {
		return 0, err
	}
	const what = "record the entities of old memories"
	r, err := one[struct {
		Noted int
		Next  *string
	}](ctx, tx, what, `select noted, next from oxbow.note_old_entities($1, $2)`, *after, limit)
	if err != nil {
		return 0, err
	}
	if r.Next != nil {
		return r.Noted, WriteSetting(ctx, tx, sweepEntitiesKey, r.Next)
	}
	_, err = run(ctx, tx, what, `delete from oxbow.settings where key = $1`, sweepEntitiesKey)
	return r.Noted, err
}
