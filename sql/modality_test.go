package sqlcode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A memory of another modality than text or code needs a reference.
func TestModalityIsChecked(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, kind := range []string{"fact", "episodic", "document"} {
		good := row{"user_id": ann(t), "memory_type": kind, "content": "Luna on the sofa"}
		for _, c := range []struct {
			bad         row
			column, why string
		}{
			{row{"modality": "smell", "reference": "a"}, "modality", "must be text, image, audio, video, code or file"},
			{row{"modality": "Image", "reference": "a"}, "modality", "must be text, image, audio, video, code or file"},
			{row{"modality": "image"}, "reference", "must say where the image is: a URI or a path"},
			{row{"modality": "file"}, "reference", "must say where the file is: a URI or a path"},
			{row{"modality": "audio", "reference": " "}, "reference", "must not be blank or longer than 2048 bytes"},
			{row{"reference": strings.Repeat("图", 683)}, "reference", "must not be blank or longer than 2048 bytes"},
			{row{"reference": "a", "content": "[sealed]", "sealed": []byte("x"), "sealed_key": "k", "sensitivity": 3},
				"sensitivity", "must be below 3 for a memory with a reference, which is not sealed"},
		} {
			sql, args := good.with(c.bad).statement("oxbow.memories")
			err := fails(t, tx, sql, args...)
			require.Equal(t, "23514", err.Code)
			require.Equal(t, c.column, err.ColumnName)
			require.Equal(t, c.column+" "+c.why, err.Message)
		}
		for _, fine := range []row{{"modality": "code"}, {"reference": "https://example.org"},
			{"modality": "video", "reference": strings.Repeat("x", 2048)}} {
			remember(t, tx, good.with(fine))
		}
	}
}

// A caption is found like any text, and its modality and reference are returned with it. A new version keeps them.
func TestModalityIsReturned(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	id := remember(t, tx, row{"user_id": user, "content": "Luna asleep on the sofa", "modality": "image",
		"reference": "photos/1.jpg"})
	remember(t, tx, row{"user_id": user, "memory_type": "episodic", "content": "露娜在沙发上打呼噜", "modality": "audio",
		"reference": "录音/1.ogg", "valid_at": ago(0)})
	remember(t, tx, row{"user_id": user, "memory_type": "episodic", "content": "Luna ate.", "valid_at": ago(0)})
	index(t, tx, user)
	returned := func(from string) []string {
		t.Helper()
		return all[string](t, tx, `select concat_ws(' ', modality, reference) from `+from+` where content <> 'Luna ate.'
			order by 1`, user)
	}
	both := []string{"audio 录音/1.ogg", "image photos/1.jpg"}
	require.Equal(t, both, returned(`oxbow.recall($1, 'Luna sofa 沙发')`))
	require.Equal(t, both, returned(`oxbow.timeline($1, 'Luna sofa 沙发')`))
	for language, want := range map[string]string{
		"en": "## Facts and events\n- 2025-10-12: [audio] 露娜在沙发上打呼噜\n- [image] Luna asleep on the sofa\n" +
			"- 2025-10-12: Luna ate.",
		"zh-CN": "## 相关的事实与经历\n- 2025-10-12: [音频] 露娜在沙发上打呼噜\n- [图片] Luna asleep on the sofa\n" +
			"- 2025-10-12: Luna ate.",
	} {
		exec(t, tx, `insert into oxbow.users (user_id, language) values ($1, $2)
			on conflict (user_id) do update set language = excluded.language`, user, language)
		require.Equal(t, want, contextOf(t, tx, row{"user_id": user, "query": "Luna asleep sofa 沙发上打呼噜"}))
	}
	require.Equal(t, []string{"audio 录音/1.ogg", "image photos/1.jpg", "text"}, all[string](t, tx,
		`select concat_ws(' ', modality, reference) from oxbow.context_parts($1) order by 1`, user), "without a query")
	second := one[string](t, tx, `select oxbow.supersede($1, $2, 'Luna asleep on the armchair')::text`, user, id)
	require.Equal(t, "image photos/1.jpg", one[string](t, tx,
		`select concat_ws(' ', modality, reference) from oxbow.memories where id = $1::text::uuid`, second))
}
