package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// pairs are 200 pairs of a part of a message and a point of RealMem, by their ids, each with the judgement of a person
// who read both: whether the message states at least one of the particular things that the point states. They were drawn
// at random from messages of the user and the points of the same session, three quarters of them with the point that
// shares most words.
//
//go:embed testdata/pairs.jsonl
var pairs []byte

// development are the people whose pairs choose a threshold. The pairs of the others measure it.
var development = []string{"Adeleke_Okonjo", "Ethan_Hunt", "Kenta_Tanaka"}

type pair struct {
	User, Memory string
	From, To     int // in characters of the memory
	Point        string
	Match        bool

	cosine float64
}

// agreement prints how well the cosine of vectors agrees with the person: of the local embedder with the threshold of
// oxbow eval, and of the model in OXBOW_EMBEDDING_PROVIDER and the variables beside it with the best threshold.
func agreement(ctx context.Context, out io.Writer, file string) {
	texts := map[[2]string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(must.Get(os.ReadFile(file)))); decoder.More(); {
		var l line
		must.OK(decoder.Decode(&l))
		texts[[2]string{l.User, l.ID}] = l.Content
	}
	embedders := []embedding.Embedder{embedding.NewLocal(0)}
	if name := os.Getenv("OXBOW_EMBEDDING_PROVIDER"); name != "" && name != providers.Local {
		embedders = append(embedders, must.Get(providers.Open(providers.Config{
			Provider: name, Model: os.Getenv("OXBOW_EMBEDDING_MODEL"), URL: os.Getenv("OXBOW_EMBEDDING_URL"),
			Dimension: must.Get(strconv.Atoi(os.Getenv("OXBOW_EMBEDDING_DIMENSION"))), APIKey: os.Getenv("OXBOW_EMBEDDING_API_KEY"),
			PassagePrefix: os.Getenv("OXBOW_EMBEDDING_PASSAGE_PREFIX"),
		})))
	}
	for i, embedder := range embedders {
		var known, others []pair
		for decoder := json.NewDecoder(bytes.NewReader(pairs)); decoder.More(); {
			var p pair
			must.OK(decoder.Decode(&p))
			said := string([]rune(texts[[2]string{p.User, p.Memory}])[p.From:p.To])
			v := must.Get(embedder.Embed(ctx, []string{said, texts[[2]string{p.User, p.Point}]}))
			for i := range v[0] {
				p.cosine += float64(v[0][i]) * float64(v[1][i])
			}
			if slices.Contains(development, p.User) {
				known = append(known, p)
			} else {
				others = append(others, p)
			}
		}
		threshold := eval.WordsAgree
		if i > 0 {
			threshold = slices.MaxFunc(known, func(a, b pair) int {
				_, x := compare(known, a.cosine)
				_, y := compare(known, b.cosine)
				return cmp.Compare(x, y)
			}).cosine
		}
		accuracy, kappa := compare(known, threshold)
		measured, kappaMeasured := compare(others, threshold)
		fmt.Fprintf(out, "%s, from %.3f: accuracy %.3f and kappa %.3f on %d pairs, %.3f and %.3f on the %d of other people\n",
			embedder.Model(), threshold, accuracy, kappa, len(known), measured, kappaMeasured, len(others))
	}
}

// compare returns the share of pairs on which the threshold and the person agree, and Cohen's kappa.
func compare(pairs []pair, threshold float64) (accuracy, kappa float64) {
	var agree, said, judged float64
	for _, p := range pairs {
		says := p.cosine >= threshold
		if says == p.Match {
			agree++
		}
		if says {
			said++
		}
		if p.Match {
			judged++
		}
	}
	n := float64(len(pairs))
	chance := (said*judged + (n-said)*(n-judged)) / (n * n)
	return agree / n, (agree/n - chance) / (1 - chance)
}
