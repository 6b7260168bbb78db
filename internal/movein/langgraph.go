package movein

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// langgraph reads the table of PostgresStore and AsyncPostgresStore, or its rows as JSON Lines.
func (r *run) langgraph(ctx context.Context) error {
	part, err := strconv.Atoi(r.UserFrom)
	if err != nil && r.User == "" {
		return fmt.Errorf("which part of the namespace is the user? Give --user-from 1 for the first, -1 for the last, "+
			"or --user%s", r.examples(ctx))
	}
	item := func(o object) error { return r.langgraphItem(o, part) }
	if r.Conn == nil {
		return objects(r.File, []string{"items", "results"}, func(_ string, o object) error { return item(o) })
	}
	t, err := r.table(ctx, r.Table, "prefix", "key", "value", "created_at", "updated_at")
	if err != nil {
		return err
	}
	return r.rows(ctx, "select "+t.list("t")+" from "+t.name+" t order by t.created_at, t.prefix, t.key", item)
}

// examples names some namespaces of the table, after a colon.
func (r *run) examples(ctx context.Context) string {
	if r.Conn == nil {
		return ""
	}
	t, err := r.table(ctx, r.Table, "prefix")
	if err != nil {
		return ""
	}
	var names []string
	err = r.rows(ctx, "select prefix from "+t.name+" group by prefix order by prefix limit 3", func(o object) error {
		names = append(names, o.text("prefix"))
		return nil
	})
	if err != nil || len(names) == 0 {
		return ""
	}
	return ". Namespaces: " + strings.Join(names, ", ")
}

// langgraphTexts are the members of a value that hold its text, as LangMem and the documentation name them.
var langgraphTexts = []string{"content", "text", "memory", "data", "fact", "summary"}

func (r *run) langgraphItem(o object, part int) error {
	if !o.has("value") || !o.has("key") {
		r.foreign(o, "prefix or namespace, key and value")
		return nil
	}
	var namespace []string
	if raw := o.take("namespace"); raw != nil {
		if json.Unmarshal(raw, &namespace) != nil {
			r.foreign(o, "an array as namespace")
			return nil
		}
	} else if prefix := o.text("prefix"); prefix != "" {
		namespace = strings.Split(prefix, ".")
	}
	value := o["value"]
	d := r.draft(o.inner("value"))
	key := o.text("key")
	d.ref = strings.Join(namespace, ".") + "/" + key
	switch at := part; {
	case at > 0 && at <= len(namespace):
		d.User = namespace[at-1]
	case at < 0 && -at <= len(namespace):
		d.User = namespace[len(namespace)+at]
	}
	names := langgraphTexts
	if name := r.Map["content"]; name != "" {
		names = []string{name}
	}
	// LangMem wraps the memory: {"kind": "Memory", "content": {"content": "…"}}.
	if wrapped := d.inner("content"); len(wrapped) > 0 {
		kind := d.take("kind")
		for name, raw := range wrapped {
			d.object[name] = raw
		}
		if kind != nil {
			d.object["kind"] = kind
		}
	}
	if d.Content = d.path(names...); d.Content == "" && len(d.object) > 0 {
		d.Content = string(value)
		r.report.unmapped("no text in the value: its JSON is the content", d.ref)
		d.object = object{}
	}
	times := r.draft(o)
	times.ref = d.ref
	d.CreatedAt = times.time("created_at")
	if at := times.time("updated_at"); !at.Equal(d.CreatedAt) {
		d.UpdatedAt = at
	}
	d.ExpiresAt = times.time("expires_at")
	times.drop("ttl_minutes", "score")
	d.object["namespace"], _ = json.Marshal(namespace) // encoding texts cannot fail
	d.object["key"] = quoted(key)
	return r.emit(d)
}
