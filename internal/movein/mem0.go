package movein

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver of mem0's history
)

// mem0 reads the table of mem0's pgvector store, the JSON of get_all or of the platform, or the history alone.
func (r *run) mem0(ctx context.Context) error {
	h, err := r.mem0History(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.Conn != nil:
		err = r.mem0Table(ctx, h)
	case r.File != nil:
		err = objects(r.File, []string{"results", "memories", "relations"}, func(list string, o object) error {
			if list == "relations" {
				r.report.skip("relation of the graph: a worker finds entities anew", "")
				return nil
			}
			return r.mem0Memory(o, h)
		})
	}
	if err != nil {
		return err
	}
	for _, id := range h.order { // those that mem0Memory did not take
		switch m := h.of[id]; {
		case m == nil:
		case m.deleted:
			r.report.skip("deleted in mem0", id)
		case r.Conn != nil || r.File != nil:
			r.report.skip("in the history only", id)
		default:
			last := m.versions[len(m.versions)-1]
			o := object{"id": quoted(id), "memory": quoted(last.content),
				"created_at": quoted(m.versions[0].at.Format(time.RFC3339Nano)),
				"updated_at": quoted(last.at.Format(time.RFC3339Nano))}
			if err := r.mem0Memory(o, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) mem0Table(ctx context.Context, h *mem0History) error {
	t, err := r.table(ctx, r.Table, "id", "payload")
	if err != nil {
		return err
	}
	query := "select id::text, payload from " + t.name + " order by payload->>'created_at', id"
	return r.rows(ctx, query, func(o object) error {
		payload := o.inner("payload")
		payload["id"] = o.take("id")
		return r.mem0Memory(payload, h)
	})
}

// mem0Memory emits a memory, after its older versions.
func (r *run) mem0Memory(o object, h *mem0History) error {
	if !o.has("memory") && !o.has("data") {
		r.foreign(o, "memory or data")
		return nil
	}
	d := r.draft(o)
	d.ref = d.text("id")
	d.Content = d.text("memory", "data")
	d.User = d.text(r.UserFrom)
	d.Agent = d.text("agent_id")
	d.Session = d.text("run_id")
	d.Speaker = d.text("actor_id")
	d.Role = d.text("role")
	d.CreatedAt = d.time("created_at")
	d.UpdatedAt = d.time("updated_at")
	d.ExpiresAt = d.time("expiration_date")
	d.drop("hash", "text_lemmatized", "score", "owner", "organization", "structured_attributes")
	d.merge("metadata")
	versions := h.take(d.ref)
	n := len(versions) // of older versions
	if n > 0 && versions[n-1].content == d.Content {
		n--
	}
	if n == 0 {
		return r.emit(d)
	}
	name := func(version int) string {
		if version > n {
			return d.ref
		}
		return d.ref + "@" + strconv.Itoa(version)
	}
	since := func(i int) time.Time {
		if i < len(versions) {
			return versions[i].at
		}
		if d.UpdatedAt.IsZero() {
			return d.CreatedAt
		}
		return d.UpdatedAt
	}
	for i := range n {
		old := r.draft(object{})
		old.memory = d.memory
		old.ref, old.Version, old.Content = name(i+1), i+1, versions[i].content
		old.CreatedAt, old.InvalidAt, old.ExpiredAt = since(i), since(i+1), since(i+1)
		old.UpdatedAt, old.ExpiresAt = time.Time{}, time.Time{}
		old.SupersededBy = r.id(name(i + 2))
		if i > 0 {
			old.older = name(i)
		}
		if err := r.emit(old); err != nil {
			return err
		}
	}
	d.CreatedAt, d.UpdatedAt, d.Version, d.older = since(n), time.Time{}, n+1, name(n)
	return r.emit(d)
}

// mem0History is what history.db knows of memories, by id.
type mem0History struct {
	of    map[string]*mem0Versions
	order []string
}

type mem0Versions struct {
	versions []mem0Version
	deleted  bool
}

type mem0Version struct {
	content string
	at      time.Time
}

// take removes and returns the versions of a memory.
func (h *mem0History) take(id string) []mem0Version {
	m := h.of[id]
	delete(h.of, id)
	if m == nil {
		return nil
	}
	return m.versions
}

// mem0History reads the whole history.db, if there is one.
func (r *run) mem0History(ctx context.Context) (*mem0History, error) {
	h := &mem0History{of: map[string]*mem0Versions{}}
	if r.History == "" {
		return h, nil
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: r.History}).EscapedPath()+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // it is only read
	// A memory's rows come in the order in which they were written. Both times of an ADD may be those of the message.
	rows, err := db.QueryContext(ctx, `
		select memory_id, event, coalesce(new_memory, ''), coalesce(updated_at, created_at, '')
		  from history where memory_id is not null order by rowid`)
	if err != nil {
		return nil, fmt.Errorf("%s is not a history of mem0: %w", r.History, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err has the error
	for rows.Next() {
		var id, event, content, at string
		if err := rows.Scan(&id, &event, &content, &at); err != nil {
			return nil, err
		}
		m := h.of[id]
		if m == nil {
			m = &mem0Versions{}
			h.of[id] = m
			h.order = append(h.order, id)
		}
		m.deleted = event == "DELETE"
		if n := len(m.versions); !m.deleted && content != "" && (n == 0 || m.versions[n-1].content != content) {
			when, err := parseTime(quoted(at))
			if err != nil && n > 0 {
				when = m.versions[n-1].at
			}
			m.versions = append(m.versions, mem0Version{content, when})
		}
	}
	return h, rows.Err()
}

func quoted(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // encoding a string cannot fail
	return raw
}
