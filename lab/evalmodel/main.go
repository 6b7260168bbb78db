// Command evalmodel runs everything that Oxbow asks a language model on 200 messages, half of them Chinese, with a real
// model that is small and weak. It prints how many answers were usable, and what they cost, for each kind of request, and
// why parts of answers were refused. It fails if a job is stuck, a row is invalid, a request or its tokens are not
// recorded, or a refusal is not in the log.
//
//	go -C lab run ./evalmodel [-short] [-messages N] [-url URL -model NAME | -rules]
//
// Without -url it starts the model of lab/models. With -rules it shows what the rules make of the same messages.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
)

func main() {
	must.Main("evalmodel", func(ctx context.Context) { command(ctx, os.Stdout) })
}

func command(ctx context.Context, out io.Writer) {
	count := flag.Int("messages", 0, "how many messages of each person; 0: all")
	url := flag.String("url", "", "a server with OpenAI's API (default: the model of lab/models)")
	model := flag.String("model", "default", "the name that the server of -url has for the model")
	timeout := flag.Duration("timeout", 4*time.Minute, "time limit of one request")
	tokens := flag.Int("max-tokens", 640, "tokens of one answer")
	patience := flag.Duration("patience", 50*time.Minute, "how long a worker may take, twice")
	short := flag.Bool("short", false, "only two people, and the first 4 messages of each, which takes minutes")
	rules := flag.Bool("rules", false, "use the rules instead of a language model")
	verbose := flag.Bool("v", false, "print the worker's log")
	keep := flag.Bool("keep", false, "keep the database and print its URL")
	flag.Parse()

	dsn := must.Get(pgtest.Create(ctx))
	if *keep {
		fmt.Fprintln(out, dsn)
	} else {
		defer func() { must.OK(pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	}
	must.OK(migrations.Up(ctx, dsn, migrations.Options{}))
	r := newRun(ctx, dsn, *verbose)
	defer r.pool.Close()
	if !*rules {
		language := &models.Language{URL: *url, Model: *model}
		if *url == "" {
			language = must.Get(models.StartLanguage(ctx))
			defer func() { must.OK(language.Close()) }()
		}
		language.URL = r.served.listen(language.URL)
		r.reasoner = append(language.Env(), "OXBOW_REASONER_TIMEOUT="+timeout.String(),
			fmt.Sprint("OXBOW_REASONER_MAX_TOKENS=", *tokens))
	}
	r.patience, r.people = *patience, 4
	if *short {
		r.people, *count = 2, cmp.Or(*count, 4)
		r.exec(`insert into oxbow.settings (key, value) values ('conversations', '{"summary_after": 2}')
		        on conflict (key) do update set value = settings.value || excluded.value`)
	}
	begun := time.Now()
	r.habits()
	r.remember()
	r.say(messages(*count, *short))
	r.work()
	r.due()
	r.work()
	r.report(out, time.Since(begun))
	must.OK(r.verify(out))
}
