package movein

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

// jsonlNames are the members that fill a field unless Options.Map names another one.
var jsonlNames = map[string][]string{
	"content":    {"content", "text", "memory", "message", "fact", "data"},
	"user":       {"user", "user_id", "userId"},
	"id":         {"id", "uuid", "_id", "key", "memory_id"},
	"type":       {"memory_type"},
	"session":    {"session", "session_id", "thread_id", "conversation_id"},
	"speaker":    {"speaker", "name"},
	"role":       {"role"},
	"agent":      {"agent", "agent_id"},
	"at":         {"at", "valid_at", "timestamp", "time", "date"},
	"invalid_at": {"invalid_at"},
	"created_at": {"created_at", "createdAt"},
	"updated_at": {"updated_at", "updatedAt"},
	"expires_at": {"expires_at"},
}

// jsonl reads objects of any form.
func (r *run) jsonl(context.Context) error {
	if r.Conn != nil {
		return errors.New("jsonl is read from a file, not from a database")
	}
	return objects(r.File, []string{"memories", "results", "items"}, func(_ string, o object) error {
		d := r.draft(o)
		names := func(field string) []string {
			if name := r.Map[field]; name != "" {
				return []string{name}
			}
			return jsonlNames[field]
		}
		d.ref = d.path(names("id")...)
		if d.Content = d.path(names("content")...); d.Content == "" && !slices.ContainsFunc(names("content"), o.has) {
			r.foreign(o, strings.Join(names("content"), ", "))
			return nil
		}
		d.User, d.Session, d.Speaker = d.path(names("user")...), d.path(names("session")...), d.path(names("speaker")...)
		d.Role, d.Agent = d.path(names("role")...), d.path(names("agent")...)
		if kind := store.MemoryType(d.path(names("type")...)); slices.Contains(store.MemoryTypes(), kind) {
			d.Type = kind
		} else if kind != "" {
			d.object["memory_type"] = quoted(string(kind))
			r.report.unmapped("memory_type is not one of Oxbow's: it is in the metadata", d.ref)
		}
		d.At, d.InvalidAt = d.time(names("at")...), d.time(names("invalid_at")...)
		d.CreatedAt, d.UpdatedAt = d.time(names("created_at")...), d.time(names("updated_at")...)
		d.ExpiresAt = d.time(names("expires_at")...)
		d.merge("metadata")
		return r.emit(d)
	})
}

// path is text for members of members, whose names are joined by dots.
func (o object) path(names ...string) string {
	for _, name := range names {
		if s := o.text(name); s != "" {
			return s
		}
		head, rest, ok := strings.Cut(name, ".")
		var inner object
		if !ok || json.Unmarshal(o[head], &inner) != nil {
			continue
		}
		if s := inner.path(rest); s != "" {
			o[head], _ = json.Marshal(inner) // encoding what was decoded cannot fail
			return s
		}
	}
	return ""
}
