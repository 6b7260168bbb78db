package store

import "context"

// Person is what operators see of a user at a glance.
type Person struct {
	Known    bool // there is a memory, a message or a setting of the user
	Types    []PersonType
	Messages int64 // not yet extracted, at most personLimit
	Inbox    int64 // memories not yet reflected on, at most personLimit
	Secret   int64 // memories of sensitivity 2 and 3, at most personLimit
	Reviews  int64 // traits whose review is due
	Waiting  int64 // unfinished jobs, at most personLimit
	Failed   int64 // jobs that were given up
}

// PersonType counts a user's current memories of a type.
type PersonType struct {
	Type     MemoryType
	Current  int64 // at most personLimit
	Archived int64 // of these
	Indexed  int64 // that recall finds by their words, with those that are no longer current
}

// personLimit is the highest number that PersonOf counts to.
const personLimit = 10_000

// Many reports whether a number of a Person may be higher.
func (Person) Many(n int64) bool { return n >= personLimit }

// PersonOf returns the figures of a user. Their cost is bounded.
func PersonOf(ctx context.Context, db DB, userID string) (Person, error) {
	p, err := CollectOne[Person](ctx, db, `
		select exists (select from oxbow.memories m where m.user_id = $1)
		       or exists (select from oxbow.messages m where m.user_id = $1)
		       or exists (select from oxbow.users u where u.user_id = $1) as known,
		       (select count(*) from (select from oxbow.messages m
		         where m.user_id = $1 and m.extracted_at is null limit $2) n) as messages,
		       (select count(*) from (select from oxbow.reflection_inbox i where i.user_id = $1 limit $2) n) as inbox,
		       (select count(*) from (select from oxbow.memories m
		         where m.user_id = $1 and m.sensitivity >= 2 limit $2) n) as secret,
		       (select count(*) from oxbow.memories_trait m where m.user_id = $1 and m.trait_review_due_at is not null
		          and m.expired_at is null and m.forgotten_at is null) as reviews,
		       (select count(*) from (select from oxbow.river_job j where j.args ->> 'user_id' = $1
		           and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled') limit $2) n) as waiting,
		       (select count(*) from oxbow.river_job j where j.args ->> 'user_id' = $1 and j.state = 'discarded') as failed`,
		userID, personLimit)
	if err != nil {
		return p, err
	}
	p.Types, err = Collect[PersonType](ctx, db, `
		select t.type, n.current, n.archived, coalesce(s.documents, 0) as indexed
		  from unnest($2::text[]) with ordinality t(type, nth)
		 cross join lateral (
		   select count(*) as current, count(*) filter (where m.level = 'archive') as archived
		     from (select m.level from oxbow.memories m where m.user_id = $1 and m.memory_type = t.type
		              and m.expired_at is null and m.forgotten_at is null limit $3) m) n
		  left join oxbow.memory_term_stats s on s.user_id = $1 and s.memory_type = t.type
		 order by t.nth`, userID, texts(MemoryTypes()), personLimit)
	return p, err
}

// KeysOf returns the API keys of a person, the newest first.
func KeysOf(ctx context.Context, db DB, userID string) ([]APIKey, error) {
	return Collect[APIKey](ctx, db, `
		select id, role, user_id, name, created_at, expires_at, revoked_at, last_used_at
		  from oxbow.api_keys where user_id = $1 order by id desc limit 100`, userID)
}
