package movein

import (
	"context"
	"encoding/json"
	"slices"
)

// zep reads a graph of Graphiti or Zep, exported as its Python models or by Neo4j's APOC, or the tables of Zep's
// community edition.
func (r *run) zep(ctx context.Context) error {
	if r.Conn != nil {
		return r.zepMessages(ctx)
	}
	lists := []string{"edges", "facts", "episodes", "nodes", "communities", "rels", "relationships"}
	return objects(r.File, lists, func(_ string, o object) error {
		if o.has("properties") && (o.has("labels") || o.has("label")) { // of APOC
			kind := apocKind(o)
			o = o.inner("properties")
			if kind != "RELATES_TO" && kind != "Episodic" {
				r.report.skip(kind+" of the graph: a worker finds entities anew", o.text("uuid"))
				return nil
			}
		}
		switch {
		case o.has("fact"):
			return r.zepFact(o)
		case o.has("content"):
			return r.zepEpisode(o)
		case o.has("name") && (o.has("summary") || o.has("group_id") || o.has("labels")):
			r.report.skip("entity or community: a worker finds entities anew", o.text("uuid"))
		case o.has("source_node_uuid"):
			r.report.skip("edge without a fact", o.text("uuid"))
		default:
			r.foreign(o, "fact or content")
		}
		return nil
	})
}

// apocKind returns the label of a relationship, or that of a node's labels which matters.
func apocKind(o object) string {
	if label := o.text("label"); label != "" {
		return label
	}
	var labels []string
	if json.Unmarshal(o.take("labels"), &labels) != nil || len(labels) == 0 {
		return "node"
	}
	if slices.Contains(labels, "Episodic") {
		return "Episodic"
	}
	return labels[0]
}

// zepFact emits an edge. Both timelines of Graphiti are those of this schema.
func (r *run) zepFact(o object) error {
	d := r.draft(o)
	d.ref = d.text("uuid", "uuid_")
	d.Content = d.text("fact")
	d.User = d.text("group_id", "graph_id")
	d.ValidAt = d.time("valid_at")
	d.InvalidAt = d.time("invalid_at")
	d.CreatedAt = d.time("created_at")
	d.ExpiredAt = d.time("expired_at")
	d.rename("name", "relation")
	d.drop("fact_embedding", "score", "relevance")
	d.merge("attributes")
	return r.emit(d)
}

// zepEpisode emits what was said or written, with its speaker if it is a message.
func (r *run) zepEpisode(o object) error {
	d := r.draft(o)
	d.ref = d.text("uuid", "uuid_")
	d.Content = d.text("content")
	d.User = d.text("group_id", "graph_id")
	d.Session = d.text("session_id", "thread_id")
	d.Role = d.text("role_type")
	d.Speaker = d.text("role")
	d.Type = "episodic"
	d.CreatedAt = d.time("created_at")
	if d.ValidAt = d.time("valid_at"); d.ValidAt.IsZero() {
		d.ValidAt = d.CreatedAt
	}
	d.drop("entity_edges", "content_embedding", "processed", "score", "relevance", "updated_at", "token_count",
		"project_uuid")
	d.merge("episode_metadata")
	d.merge("metadata")
	return r.emit(d)
}

// zepMessages reads the messages of Zep's community edition, whose facts are in Graphiti.
func (r *run) zepMessages(ctx context.Context) error {
	messages, err := r.table(ctx, "messages", "uuid", "id", "session_id", "role", "content", "created_at", "deleted_at")
	if err != nil {
		return err
	}
	if _, err := r.table(ctx, "sessions", "session_id", "user_id"); err != nil {
		return err
	}
	query := "select " + messages.list("m") + `, s.user_id as "group_id" from messages m
		left join sessions s on s.session_id = m.session_id where m.deleted_at is null order by m.id`
	return r.rows(ctx, query, func(o object) error {
		o.take("id")
		if role := string(o["role_type"]); role == `"norole"` || role == `"function"` {
			o.take("role_type")
		}
		return r.zepEpisode(o)
	})
}
