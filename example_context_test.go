package oxbow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// Traits develop over weeks, so this example imports them. Put the block into the system prompt, beside the
// application's own instructions.
func ExampleClient_Context() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	const lines = `
{"user":"told","memory_type":"trait","trait_subtype":"core","trait_stage":"established","trait_confidence":0.8,` +
		`"content":"Likes to plan ahead"}
{"user":"told","memory_type":"trait","trait_subtype":"preference","trait_stage":"emerging","trait_confidence":0.5,` +
		`"content":"Prefers vegetarian food"}
{"user":"told","memory_type":"fact","content":"Ann is allergic to peanuts."}
{"user":"told","memory_type":"episodic","speaker":"Ann","at":"2025-10-12T18:00:00Z","content":"I cooked a pumpkin ` +
		`soup."}`
	if _, err := client.Import(ctx, strings.NewReader(lines), oxbow.ImportOptions{Traits: true}); err != nil {
		panic(err)
	}
	work(ctx)

	known, err := client.Context(ctx, oxbow.ContextQuery{UserID: "told",
		Text: "What shall I cook, is there an allergic guest?", MaxTokens: 200})
	if err != nil {
		panic(err)
	}
	fmt.Println(known.Text)
	// After the reply, report the memories that it relied on.
	client.Used("told", known.IDs()[2])

	// Output:
	// ## Core traits
	// - Likes to plan ahead
	// ## Preferences
	// - Prefers vegetarian food (probably)
	// ## Facts and events
	// - Ann is allergic to peanuts.
	// - 2025-10-12, Ann: I cooked a pumpkin soup.
}

// The headings are Chinese if the user's language is zh.
func ExampleClient_Context_chinese() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	if _, err := pool.Exec(ctx,
		`insert into oxbow.users (user_id, language, timezone) values ('林', 'zh-CN', 'Asia/Shanghai')`); err != nil {
		panic(err)
	}
	const lines = `
{"user":"林","memory_type":"trait","trait_subtype":"core","trait_stage":"established","trait_confidence":0.8,` +
		`"content":"性格比较内向"}
{"user":"林","memory_type":"trait","trait_subtype":"behavior","trait_stage":"emerging","trait_confidence":0.5,` +
		`"content":"周末常去爬山"}
{"user":"林","memory_type":"episodic","at":"2025-10-12T18:00:00Z","content":"和同事去黄山爬山，看了日出。"}`
	if _, err := client.Import(ctx, strings.NewReader(lines), oxbow.ImportOptions{Traits: true}); err != nil {
		panic(err)
	}
	work(ctx)

	known, err := client.Context(ctx, oxbow.ContextQuery{UserID: "林", Text: "他喜欢去哪里爬山？"})
	if err != nil {
		panic(err)
	}
	fmt.Println(known.Text)

	// Output:
	// ## 核心特质
	// - 性格比较内向
	// ## 行为习惯
	// - 周末常去爬山（可能）
	// ## 相关的事实与经历
	// - 2025-10-13: 和同事去黄山爬山，看了日出。
}
