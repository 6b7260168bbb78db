package worker

import (
	"cmp"
	"time"

	"github.com/oxbow-memory/oxbow/internal/llm"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
	"github.com/oxbow-memory/oxbow/internal/reasoner/judge"
	"github.com/oxbow-memory/oxbow/internal/reasoner/rules"
)

// ReasonerRules is the provider of the built-in rules, which need no language model.
const ReasonerRules = "rules"

func (c Config) byRules() bool {
	return c.Reasoner.Client == nil && (c.Reasoner.Provider == "" || c.Reasoner.Provider == ReasonerRules)
}

// reasoners are the reasoner, the extractor, the summarizer, the reviewer, the merger, the judge and the abstracter
// of a worker.
type reasoners struct {
	reasoner   reasoner.Reasoner
	extractor  reasoner.Extractor
	summarizer reasoner.Summarizer
	reviewer   reasoner.Reviewer
	merger     reasoner.Merger
	judge      reasoner.Judge
	abstracter reasoner.Abstracter
	questioner reasoner.Questioner // nil: the reasoner asks no questions
}

func (c Config) openReasoner() (reasoners, error) {
	local := extract.New()
	if c.testReasoner != nil {
		summarizer := c.testSummarizer
		if summarizer == nil {
			summarizer = local
		}
		questioner, _ := c.testReasoner.(reasoner.Questioner)
		return reasoners{c.testReasoner, c.testExtractor, summarizer, local, local, judge.Rules{}, rules.New(), questioner}, nil
	}
	if c.byRules() {
		return reasoners{rules.New(), local, local, local, local, judge.Rules{}, rules.New(), nil}, nil
	}
	model, err := llm.Open(llm.Config(c.Reasoner))
	return reasoners{model, model, model, model, model, model, model, model}, err
}

// reasonerCallTime limits one call of the reasoner, which may send two requests to a model.
func (c Config) reasonerCallTime() time.Duration {
	if c.byRules() {
		return 20 * time.Second
	}
	return 2*cmp.Or(c.Reasoner.Timeout, llm.DefaultTimeout) + 5*time.Second
}

// reflectBatch is the number of memories in one reflection. Models get fewer, because they read a
// long list less carefully.
func (c Config) reflectBatch() int {
	if c.byRules() {
		return 200
	}
	return 60
}
