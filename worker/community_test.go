package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The worker finds communities from what memories name, and reads no more when nothing changed.
func TestCommunity(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, metadata)
		select 'ann', format('%s (%s)', n.content, i), jsonb_build_object('entities', n.names)
		  from generate_series(1, 60) i, (values ('Mei, Bo and Tao row together', '["Mei", "Bo", "Tao"]'::jsonb),
		    ('林晓、王芳和李雷一起唱歌', '["林晓", "王芳", "李雷"]')) n(content, names)`)
	b.work()
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('community', 'default', 1, '{}')`)
	b.work()
	found := "oxbow.communities('ann', '王芳在哪里?') where members = 3 and cardinality(sources) = 5"
	require.Equal(t, "李雷 林晓 王芳", get[string](b, "select string_agg(n, ' ' order by n) from (select unnest(names) n from "+
		found+") n"))
	require.Zero(t, b.count(`oxbow.entities where community_due`)+b.count(`oxbow.communities where due`))
}
