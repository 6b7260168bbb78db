package when

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

//go:embed words/*.txt
var wordFiles embed.FS

var words = func() *lexis.Words {
	files, err := fs.Sub(wordFiles, "words")
	if err != nil {
		panic(err)
	}
	return lexis.Must(files)
}()

// numbered returns a list of words that stand for numbers.
func numbered[T ~int](name string) map[string]T {
	m := map[string]T{}
	for word, value := range words.Map(name) {
		n, err := strconv.Atoi(value)
		if err != nil {
			panic(fmt.Sprintf("list %s: %q stands for %q, which is not a number", name, word, value))
		}
		m[word] = T(n)
	}
	return m
}

type valued[T any] struct {
	word  string
	value T
}

// valuedList returns the words of a list with what they stand for, the longest first.
func valuedList(name string) []valued[string] { return longestFirst(words.Map(name)) }

// numberedList returns those that stand for numbers.
func numberedList(name string) []valued[int] { return longestFirst(numbered[int](name)) }

func longestFirst[T any](m map[string]T) (list []valued[T]) {
	for word, value := range m {
		list = append(list, valued[T]{word, value})
	}
	slices.SortFunc(list, func(a, b valued[T]) int {
		return cmp.Or(cmp.Compare(len(b.word), len(a.word)), cmp.Compare(a.word, b.word))
	})
	return list
}
