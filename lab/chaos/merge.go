package chaos

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// merge merges events that happened again, unmerges a merged memory, or erases one with its originals.
func (c *client) merge(ctx context.Context, a Action) (outcome, error) {
	l, user := c.run.ledger, userName(a.User)
	rows := l.again(a.User)
	var ids, kept []uuid.UUID
	for id, row := range rows {
		if row.kind == "episodic" {
			ids = append(ids, id)
		}
	}
	how, err := c.transact(ctx, a, func(tx pgx.Tx) error {
		bound := c.oxbow.WithTx(tx)
		if a.Kind == "merge" {
			some, err := collect(ctx, tx, `select id from oxbow.memories where user_id = $1 and id = any($2)
				and expired_at is null and forgotten_at is null order by id limit 3`, user, ids)
			if err != nil || len(some) < 2 {
				return nothing(err)
			}
			_, err = bound.Merge(ctx, user, some, "")
			return err
		}
		merged, err := collect(ctx, tx, `select id from oxbow.memories where user_id = $1 and source = 'merge'
			and expired_at is null and forgotten_at is null order by id`, user)
		if err != nil || len(merged) == 0 {
			return nothing(err)
		}
		one := merged[int(a.Pick%1e6)%len(merged)]
		if a.Kind == "unmerge" {
			kept, err = bound.Unmerge(ctx, user, one)
			return err
		}
		before, err := collect(ctx, tx, `select id from oxbow.memories where user_id = $1`, user)
		if err != nil {
			return err
		}
		if _, err = bound.EraseMemory(ctx, user, one); err != nil {
			return err
		}
		left, err := collect(ctx, tx, `select id from oxbow.memories where user_id = $1`, user)
		kept = without(before, left)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return never, nil
	}
	if how > failed {
		l.split(rows, kept, a.Kind == "unmerge", how)
		l.erasedHome[a.User] = l.erasedHome[a.User] || a.Kind == "erase merged"
	}
	return how, err
}

// nothing returns the error for an action without a target, unless another error exists.
func nothing(err error) error {
	if err == nil {
		return pgx.ErrNoRows
	}
	return err
}

func collect(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

func without(all, others []uuid.UUID) (left []uuid.UUID) {
	in := map[uuid.UUID]bool{}
	for _, id := range others {
		in[id] = true
	}
	for _, id := range all {
		if !in[id] {
			left = append(left, id)
		}
	}
	return left
}

// again returns the events and facts of a user's life that were stored again and are not erased, by their ids.
func (l *ledger) again(user int) map[uuid.UUID]*written {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := map[uuid.UUID]*written{}
	for _, w := range l.writes {
		if w.action != "again" || w.user != user || w.life != l.lives[user] || w.outcome <= failed {
			continue
		}
		for _, row := range w.rows {
			if row.erased <= failed {
				rows[row.id] = row
			}
		}
	}
	return rows
}

// split records that the originals of a merged memory were unmerged, or erased with it.
func (l *ledger) split(rows map[uuid.UUID]*written, ids []uuid.UUID, unmerged bool, how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if row := rows[id]; row != nil && unmerged {
			row.unmerged = how
		} else if row != nil {
			row.erased = how
		}
	}
}

// merges checks that merged memories match their originals.
func (k *checker) merges() int {
	for _, c := range []struct{ expected, sql string }{
		{"as many originals as the merged memory counts", `
			select m.user_id, m.id, format('counts %s, %s links: %s', m.metadata #>> '{merged,count}',
			       count(l.to_id), m.content)
			  from oxbow.memories m left join oxbow.memory_links l on l.user_id = m.user_id
			   and l.from_type = m.memory_type and l.from_id = m.id and l.relation = 'merged_from'
			 where m.source = 'merge' and m.expired_at is null and m.forgotten_at is null
			 group by m.user_id, m.memory_type, m.id
			having (m.metadata #>> '{merged,count}')::integer <> count(l.to_id)`},
		{"an original is superseded by its current merged memory", `
			select o.user_id, o.id, format('superseded by %s and not %s: %s', o.superseded_by, m.id, o.content)
			  from oxbow.memories m join oxbow.memory_links l on l.user_id = m.user_id and l.from_type = m.memory_type
			   and l.from_id = m.id and l.relation = 'merged_from'
			  join oxbow.memories o on o.user_id = l.user_id and o.memory_type = l.to_type and o.id = l.to_id
			 where m.source = 'merge' and m.expired_at is null and m.forgotten_at is null
			   and (o.expired_at is null or o.superseded_by is distinct from m.id)`},
		{"no original of a merged memory that was unmerged", `
			select o.user_id, o.id, format('superseded by %s: %s', m.id, o.content)
			  from oxbow.memories m join oxbow.memory_links l on l.user_id = m.user_id and l.from_type = m.memory_type
			   and l.from_id = m.id and l.relation = 'merged_from'
			  join oxbow.memories o on o.user_id = l.user_id and o.memory_type = l.to_type and o.id = l.to_id
			 where m.source = 'merge' and m.forgotten_at is not null and o.forgotten_at is null
			   and o.superseded_by = m.id`},
		{"a memory that was unmerged last is current", `
			select o.user_id, o.id, format('superseded by %s: %s', o.superseded_by, o.content)
			  from oxbow.memories o
			 where o.expired_at is not null and 'UNMERGE' = (select h.event from oxbow.memory_history h
			   where h.user_id = o.user_id and h.memory_type = o.memory_type and h.memory_id = o.id
			   order by h.created_at desc limit 1)`},
		{"the vector of an original", `
			select m.user_id, m.id, m.content from oxbow.memories m
			  join oxbow.memory_vectors v on v.user_id = m.user_id and v.memory_type = m.memory_type
			   and v.memory_id = m.id
			 where m.source = 'merge' and m.expired_at is null and m.forgotten_at is null and not exists (
			   select from oxbow.memory_links l join oxbow.memory_vectors o on o.user_id = l.user_id
			      and o.memory_type = l.to_type and o.memory_id = l.to_id
			    where l.user_id = m.user_id and l.from_type = m.memory_type and l.from_id = m.id
			      and l.relation = 'merged_from' and o.embedding = v.embedding)`},
	} {
		k.none("merge", c.expected, c.sql)
	}
	var users, ids []string
	looked := 0
	for _, w := range k.ledger.writes {
		if w.action != "again" {
			continue
		}
		looked += len(w.rows)
		for _, row := range w.rows {
			if row.unmerged == acked {
				users, ids = append(users, userName(w.user)), append(ids, row.id.String())
			}
		}
	}
	k.none("merge", "an event of each memory that a client unmerged", `
		select o.user_id, o.id, o.content from unnest($1::text[], $2::text[]::uuid[]) u(user_id, id)
		  join oxbow.memories o on o.user_id = u.user_id and o.id = u.id
		 where not exists (select from oxbow.memory_history h where h.user_id = o.user_id
		   and h.memory_type = o.memory_type and h.memory_id = o.id and h.event = 'UNMERGE')`, users, ids)
	return looked + k.count("oxbow.memories where source = 'merge'")
}
