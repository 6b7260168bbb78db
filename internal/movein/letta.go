package movein

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// letta reads the tables of a Letta server, or an agent file (.af).
func (r *run) letta(ctx context.Context) error {
	if r.Conn == nil {
		return r.lettaFile()
	}
	for _, t := range []struct {
		name, join, order string
		required          []string
		f                 func(object) error
	}{
		{"block", "join blocks_agents l on l.block_id = t.id join agents a on a.id = l.agent_id", "t.created_at, t.id, a.id",
			[]string{"label", "value"}, r.lettaBlock},
		{"archival_passages", "join archives_agents l on l.archive_id = t.archive_id join agents a on a.id = l.agent_id",
			"t.created_at, t.id, a.id", []string{"text", "archive_id"}, r.lettaPassage},
		{"messages", "join agents a on a.id = t.agent_id", "t.sequence_id",
			[]string{"agent_id", "role", "content", "sequence_id"}, r.lettaMessage},
	} {
		table, err := r.table(ctx, t.name, append(t.required, "id", "created_at", "is_deleted")...)
		if err != nil {
			return err
		}
		err = r.rows(ctx, "select "+table.list("t")+`, a.id as of_agent, a.name as agent_name,
			(select min(i.identifier_key) from identities_agents x join identities i on i.id = x.identity_id
			  where x.agent_id = a.id having count(*) = 1) as identity
			from `+table.name+" t "+t.join+" where not a.is_deleted and not t.is_deleted order by "+t.order, t.f)
		if err != nil {
			return err
		}
	}
	return nil
}

// lettaOwner reads whose memory a row is and whose agent wrote it.
func (d *draft) lettaOwner() {
	d.Agent = d.text("of_agent")
	of := map[string]string{"identity": d.text("identity"), "agent_id": d.Agent, "agent_name": d.text("agent_name")}
	d.User = of[d.run.UserFrom]
	d.drop("organization_id", "project_id", "template_id", "base_template_id", "deployment_id", "entity_id",
		"_created_by_id", "_last_updated_by_id", "is_deleted", "embedding_config", "agent_id")
}

// lettaBlock emits a block of core memory.
func (r *run) lettaBlock(o object) error {
	d := r.draft(o)
	d.ref = d.text("id")
	d.lettaOwner()
	label := d.text("label")
	if r.Conn == nil {
		d.ref = d.Agent + "/" + label
	}
	if label == "persona" || label == "system/persona" {
		r.report.skip("persona block: it is about the agent", d.ref)
		return nil
	}
	d.Content = d.text("value")
	d.CreatedAt = d.time("created_at")
	if at := d.time("updated_at"); !at.Equal(d.CreatedAt) {
		d.UpdatedAt = at
	}
	d.object["label"] = quoted(label)
	d.drop("limit", "is_template", "template_name", "preserve_on_migration", "read_only", "hidden", "version",
		"current_history_entry_id")
	d.merge("metadata_")
	d.merge("metadata")
	return r.emit(d)
}

// lettaPassage emits a passage of archival memory.
func (r *run) lettaPassage(o object) error {
	d := r.draft(o)
	d.ref = d.text("id")
	d.lettaOwner()
	d.Content = d.text("text")
	d.CreatedAt = d.time("created_at")
	d.drop("updated_at", "archive_id")
	d.merge("metadata_")
	return r.emit(d)
}

// lettaMessage emits what the person or the agent said.
func (r *run) lettaMessage(o object) error {
	d := r.draft(o)
	d.ref = d.text("id")
	d.lettaOwner()
	d.Role = d.text("role")
	if d.Content = d.lettaText(); d.Content == "" {
		r.report.skip(d.Role+" message without words of the person or the agent", d.ref)
		return nil
	}
	if d.Session = d.text("conversation_id"); d.Session == "" {
		d.Session = d.Agent
	}
	d.Speaker = d.text("name")
	d.Type = "episodic"
	d.CreatedAt = d.time("created_at")
	d.ValidAt = d.CreatedAt
	if r.Conn == nil {
		d.ref = ""
	}
	d.drop("type", "updated_at", "step_id", "run_id", "otid", "sequence_id", "model", "group_id", "sender_id",
		"batch_item_id", "tool_returns", "tool_call_id", "is_err", "approve", "approval_request_id", "denial_reason", "approvals")
	return r.emit(d)
}

// lettaText takes the words out of a message: the text of its content, or what the tool send_message says. A message
// that the server wrote itself, such as a heartbeat, has none.
func (d *draft) lettaText() string {
	plainText := d.text("text")
	if s := d.text("content"); s != "" {
		plainText = s
	}
	var said []string
	for _, part := range d.list("content") {
		if part.text("type") == "text" {
			said = append(said, part.text("text"))
		}
	}
	if len(said) > 0 {
		plainText = strings.Join(said, "\n")
	}
	calls := d.list("tool_calls")
	switch d.Role {
	case "user":
		var packed struct{ Type, Message string }
		if json.Unmarshal([]byte(plainText), &packed) == nil && packed.Type != "" {
			if packed.Type != "user_message" {
				return ""
			}
			return packed.Message
		}
		return plainText
	case "assistant":
		for _, call := range calls {
			f := call.inner("function")
			var arguments struct{ Message string }
			if f.text("name") == "send_message" && json.Unmarshal([]byte(f.text("arguments")), &arguments) == nil {
				return arguments.Message
			}
		}
		if len(calls) > 0 {
			return "" // thoughts before a call of another tool
		}
		return plainText
	}
	return ""
}

// lettaFile reads an agent file. Its ids count the agents, blocks and messages of the file, so the agent's name stands
// for the agent, a label for a block, and time and text for a message. The blocks come after the agents that have them.
func (r *run) lettaFile() error {
	if r.UserFrom == "identity" && r.User == "" {
		return errors.New("an agent file does not say whose agents these are: give --user, or --user-from agent_name")
	}
	holders := map[string][]string{} // names of agents by block
	lists := []string{"agents", "blocks", "groups", "files", "sources", "tools", "mcp_servers", "skills"}
	return objects(r.File, lists, func(list string, o object) error {
		switch {
		case list == "agents" || list == "" && o.has("agent_type"):
			return r.lettaAgent(o, holders)
		case list == "blocks":
			id := o.text("id")
			for _, agent := range holders[id] {
				if err := r.lettaBlock(maps.Clone(o).of(agent)); err != nil {
					return err
				}
			}
			if holders[id] == nil {
				r.report.skip("block of no agent", id)
			}
		case list == "":
			r.foreign(o, "agents and blocks")
		default:
			r.report.skip(strings.TrimSuffix(list, "s")+": not a memory", o.text("id"))
		}
		return nil
	})
}

// lettaAgent emits the messages of an agent, and the blocks, which the first format of agent files has in the agent.
func (r *run) lettaAgent(o object, holders map[string][]string) error {
	id, name := o.text("id"), o.text("name")
	if name == "" {
		name = id
	}
	var blocks []string
	if raw := o.take("block_ids"); raw != nil && json.Unmarshal(raw, &blocks) != nil {
		return errors.New("block_ids is not an array of texts")
	}
	for _, block := range blocks {
		holders[block] = append(holders[block], name)
	}
	for _, block := range o.list("core_memory") {
		if err := r.lettaBlock(block.of(name)); err != nil {
			return err
		}
	}
	for _, message := range o.list("messages") {
		if err := r.lettaMessage(message.of(name)); err != nil {
			return err
		}
	}
	return nil
}

// of adds the agent of a block or message of a file.
func (o object) of(agent string) object {
	o["of_agent"], o["agent_name"] = quoted(agent), quoted(agent)
	return o
}
