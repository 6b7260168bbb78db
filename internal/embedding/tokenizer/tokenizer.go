// Package tokenizer splits texts into the tokens of embedding models. It reads the file tokenizer.json of models with
// the tokenizers of BERT (WordPiece) and XLM-RoBERTa (Unigram), which most embedding models have. It returns the same tokens
// as Hugging Face's library tokenizers, which defines the format, but treats special tokens in a text as text.
package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
)

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	normalize func(string) string
	split     func([]string) []string
	model     model

	before, after []int64 // the special tokens around a text
}

// model splits a word into tokens.
type model interface {
	tokens(word string) []int64
}

// Open reads a file tokenizer.json. It returns an error if the file has a part that the package does not support, because
// wrong tokens would give wrong vectors without an error.
func Open(path string) (*Tokenizer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Normalizer    *spec `json:"normalizer"`
		PreTokenizer  *spec `json:"pre_tokenizer"`
		PostProcessor *post `json:"post_processor"`
		Model         struct {
			Type string `json:"type"`
			wordPieceFile
			unigramFile
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var t Tokenizer
	switch m := file.Model; m.Type {
	case "WordPiece":
		t.model, err = newWordPiece(m.wordPieceFile, m.Vocab)
	case "Unigram":
		t.model, err = newUnigram(m.unigramFile, m.Vocab)
	default:
		err = fmt.Errorf("tokenizers of the type %q are not supported, only WordPiece and Unigram", m.Type)
	}
	if err == nil {
		t.normalize, err = normalizer(file.Normalizer)
	}
	if err == nil {
		t.split, err = splitter(file.PreTokenizer)
	}
	if err == nil {
		t.before, t.after, err = file.PostProcessor.special()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &t, nil
}

// Encode returns the tokens of a text with the special tokens around it, at most limit in all, but always the special ones.
// A special token in the text itself, such as "[SEP]", is treated as text.
func (t *Tokenizer) Encode(text string, limit int) []int64 {
	ids := append([]int64(nil), t.before...)
	limit = max(limit-len(t.after), len(ids))
	for _, word := range t.split([]string{t.normalize(text)}) {
		if len(ids) >= limit {
			break
		}
		ids = append(ids, t.model.tokens(word)...)
	}
	return append(ids[:min(len(ids), limit)], t.after...)
}

// post is the post-processor, which adds special tokens.
type post struct {
	Type   string `json:"type"`
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	// Of the older types, which name the token and its number.
	Cls []any `json:"cls"`
	Sep []any `json:"sep"`
}

func (p *post) special() (before, after []int64, err error) {
	if p == nil {
		return nil, nil, nil
	}
	switch p.Type {
	case "TemplateProcessing":
		to := &before
		for _, part := range p.Single {
			if part.SpecialToken == nil { // the text
				to = &after
			} else {
				*to = append(*to, p.SpecialTokens[part.SpecialToken.ID].IDs...)
			}
		}
		return before, after, nil
	case "BertProcessing", "RobertaProcessing":
		if len(p.Cls) == 2 && len(p.Sep) == 2 {
			cls, ok1 := p.Cls[1].(float64)
			sep, ok2 := p.Sep[1].(float64)
			if ok1 && ok2 {
				return []int64{int64(cls)}, []int64{int64(sep)}, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("the post-processor %q is not supported", p.Type)
}
