package tokenizer

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// open opens a tokenizer of testdata after changes to its file.
func open(t *testing.T, name string, changes ...func(file map[string]any)) (*Tokenizer, error) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".json.gz"))
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	raw, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	if len(changes) > 0 {
		var file map[string]any
		require.NoError(t, json.Unmarshal(raw, &file))
		for _, change := range changes {
			change(file)
		}
		raw, err = json.Marshal(file)
		require.NoError(t, err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	require.NoError(t, os.WriteFile(path, raw, 0o644))
	return Open(path)
}

// The files of testdata were trained and applied with the library tokenizers 0.23.3, on the pages of docs and on the
// texts of tokens.json. The character map of unigram, which replaces compatibility characters, is by SentencePiece.
func TestTokensAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/tokens.json")
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &want))
	var texts []string
	require.NoError(t, json.Unmarshal(want["texts"], &texts))
	for _, name := range []string{"wordpiece", "unigram"} {
		tokenizer, err := open(t, name)
		require.NoError(t, err)
		var tokens [][]int64
		require.NoError(t, json.Unmarshal(want[name], &tokens))
		for i, text := range texts {
			require.Equal(t, tokens[i], tokenizer.Encode(text, 512), "%s: %q", name, text)
		}
	}
}

func TestLimitCountsSpecialTokens(t *testing.T) {
	t.Parallel()
	tokenizer, err := open(t, "wordpiece")
	require.NoError(t, err)
	whole := tokenizer.Encode("The worker embeds the memories.", 512)
	require.Greater(t, len(whole), 5)
	cut := tokenizer.Encode("The worker embeds the memories.", 5)
	require.Equal(t, append(whole[:4:4], whole[len(whole)-1]), cut)
	require.Len(t, tokenizer.Encode("The worker embeds the memories.", -1), 2)
	require.Greater(t, len(tokenizer.Encode("[SEP]", 512)), 3, "special tokens in a text are text")
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	set := func(part string, value map[string]any) func(map[string]any) {
		return func(file map[string]any) { file[part] = value }
	}
	for says, change := range map[string]func(map[string]any){
		`type "BPE" are not supported`:          set("model", map[string]any{"type": "BPE"}),
		`normalizer "Nmt" is not supported`:     set("normalizer", map[string]any{"type": "Nmt"}),
		`pre-tokenizer "ByteLevel"`:             set("pre_tokenizer", map[string]any{"type": "ByteLevel"}),
		`post-processor "ByteLevel"`:            set("post_processor", map[string]any{"type": "ByteLevel"}),
		`the vocabulary lacks "?"`:              set("model", map[string]any{"type": "WordPiece", "vocab": map[string]int{}, "unk_token": "?"}),
		`max_input_chars_per_word is 0`:         func(file map[string]any) { delete(file["model"].(map[string]any), "max_input_chars_per_word") },
		`without unk_id, or with byte_fallback`: set("model", map[string]any{"type": "Unigram", "vocab": []any{}}),
		`Metaspace with replacement ""`:         set("pre_tokenizer", map[string]any{"type": "Metaspace"}),
		`the precompiled_charsmap is cut off`:   set("normalizer", map[string]any{"type": "Precompiled", "precompiled_charsmap": []byte("\xFF\xFF\xFF\x00abcd")}),
	} {
		_, err := open(t, "wordpiece", change)
		require.ErrorContains(t, err, says)
	}
}
