//go:build onnx

// Package onnx computes vectors inside the process, with ONNX Runtime and a model in a folder in the layout of
// sentence-transformers.
package onnx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/tokenizer"
)

// Config selects a model.
type Config struct {
	Name    string // of the model. Default: the name of the folder.
	Folder  string
	Library string // path of ONNX Runtime's shared library. Default: the system finds it.
	// Dimension is the length of the vectors. Default: the model's; any other value is an error.
	Dimension int
	// QueryPrefix and PassagePrefix precede questions and memories. Default: the prompts "query", and "document" or
	// "passage", of the folder's configuration.
	QueryPrefix, PassagePrefix string
}

// defaultLibrary is the name by which the system finds ONNX Runtime.
func defaultLibrary() string {
	if runtime.GOOS == "darwin" {
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

// embedder is a loaded model.
type embedder struct {
	cfg       Config
	folder    folder
	tokenizer *tokenizer.Tokenizer
	session   *ort.DynamicAdvancedSession
	inputs    []string
	running   chan struct{} // limits the texts at a time to the number of processors
}

// opened holds the loaded models, because the worker and the server of a process may open the same model.
var opened = struct {
	sync.Mutex
	models map[Config]*embedder
}{models: map[Config]*embedder{}}

// Open loads a model, unless it is loaded already. The model stays loaded until the process ends.
func Open(cfg Config) (embedding.Embedder, error) {
	opened.Lock()
	defer opened.Unlock()
	if e := opened.models[cfg]; e != nil {
		return e, nil
	}
	e, err := load(cfg)
	if err != nil {
		return nil, fmt.Errorf("embedding provider onnx: %w", err)
	}
	opened.models[cfg] = e
	return e, nil
}

func load(cfg Config) (*embedder, error) {
	about, err := readFolder(cfg.Folder)
	if err != nil {
		return nil, err
	}
	tokens, err := tokenizer.Open(about.tokenizer)
	if err != nil {
		return nil, err
	}
	cfg.Name = cmp.Or(cfg.Name, filepath.Base(cfg.Folder))
	cfg.QueryPrefix = cmp.Or(cfg.QueryPrefix, about.queryPrefix)
	cfg.PassagePrefix = cmp.Or(cfg.PassagePrefix, about.passagePrefix)
	e := &embedder{cfg: cfg, folder: about, tokenizer: tokens, running: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if err := e.loadModel(); err != nil {
		return nil, err
	}
	if cfg.Dimension != 0 && cfg.Dimension != e.folder.dimension {
		return nil, fmt.Errorf("the vectors of the model in %s have %d dimensions, but the configuration says %d",
			cfg.Folder, e.folder.dimension, cfg.Dimension)
	}
	return e, nil
}

func (e *embedder) loadModel() error {
	if !ort.IsInitialized() {
		ort.SetSharedLibraryPath(cmp.Or(e.cfg.Library, defaultLibrary()))
		if err := ort.InitializeEnvironment(); err != nil {
			return fmt.Errorf("ONNX Runtime: %w: set the embedding library to its path", err)
		}
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return err
	}
	defer func() { _ = options.Destroy() }()
	// To list the inputs, the library loads the model. Without optimization this takes less memory.
	if err := options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll); err != nil {
		return err
	}
	inputs, outputs, err := ort.GetInputOutputInfoWithOptions(e.folder.model, options)
	if err != nil {
		return fmt.Errorf("%s: %w", e.folder.model, err)
	}
	for _, in := range inputs {
		if !slices.Contains([]string{"input_ids", "attention_mask", "token_type_ids"}, in.Name) {
			return fmt.Errorf("%s has the input %q, which is not supported", e.folder.model, in.Name)
		}
		e.inputs = append(e.inputs, in.Name)
	}
	vectors := slices.IndexFunc(outputs, func(o ort.InputOutputInfo) bool { return len(o.Dimensions) == 3 })
	if vectors < 0 {
		return fmt.Errorf("%s has no output with the vectors of the tokens", e.folder.model)
	}
	// The dimension is -1 if the file does not state it.
	dimension := max(0, int(outputs[vectors].Dimensions[2]))
	if e.folder.dimension != 0 && dimension != 0 && e.folder.dimension != dimension {
		return fmt.Errorf("the vectors of %s have %d dimensions, but its pooling says %d", e.folder.model, dimension,
			e.folder.dimension)
	}
	e.folder.dimension = cmp.Or(e.folder.dimension, dimension)
	if e.folder.dimension < 1 || e.folder.dimension > embedding.MaxDimension {
		return fmt.Errorf("the model in %s has vectors of %d dimensions: it must be 1 to %d", e.cfg.Folder,
			e.folder.dimension, embedding.MaxDimension)
	}
	// Each text gets one thread, because several threads of one text would wait for the slowest of them.
	if err := errors.Join(options.SetIntraOpNumThreads(1),
		options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll)); err != nil {
		return err
	}
	e.session, err = ort.NewDynamicAdvancedSession(e.folder.model, e.inputs, []string{outputs[vectors].Name}, options)
	return err
}

func (e *embedder) Model() string  { return "onnx:" + e.cfg.Name }
func (e *embedder) Dimension() int { return e.folder.dimension }

// Prefixes returns those of the configuration or of the folder.
func (e *embedder) Prefixes() (query, passage string) { return e.cfg.QueryPrefix, e.cfg.PassagePrefix }

// Embed returns the vectors of memories. It cuts off what is too long for the model, as sentence-transformers does.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.cfg.PassagePrefix, texts)
}

// EmbedQueries is Embed for questions.
func (e *embedder) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.cfg.QueryPrefix, texts)
}

func (e *embedder) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	for i, text := range texts {
		group.Go(func() (err error) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case e.running <- struct{}{}:
				defer func() { <-e.running }()
			}
			vectors[i], err = e.vector(e.tokenizer.Encode(prefix+text, e.folder.tokens))
			if err == nil {
				err = embedding.Normalize(vectors[i])
			}
			if err != nil {
				return &embedding.Error{Kind: embedding.Invalid, Model: e.Model(), Message: err.Error()}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// vector runs the model on the tokens of one text. A batch of texts of different lengths would need padding, which costs
// more time than batches save, and changes the vectors of quantized models.
func (e *embedder) vector(tokens []int64) ([]float32, error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("a text has no tokens")
	}
	shape := ort.NewShape(1, int64(len(tokens)))
	inputs := make([]ort.Value, len(e.inputs))
	for i, name := range e.inputs {
		data := tokens
		switch name {
		case "attention_mask":
			data = slices.Repeat([]int64{1}, len(tokens))
		case "token_type_ids":
			data = make([]int64, len(tokens))
		}
		tensor, err := ort.NewTensor(shape, data)
		if err != nil {
			return nil, err
		}
		defer func() { _ = tensor.Destroy() }()
		inputs[i] = tensor
	}
	outputs := []ort.Value{nil}
	if err := e.session.Run(inputs, outputs); err != nil {
		return nil, err
	}
	defer func() { _ = outputs[0].Destroy() }()
	output, ok := outputs[0].(*ort.Tensor[float32])
	if want := ort.NewShape(1, int64(len(tokens)), int64(e.folder.dimension)); !ok || !output.GetShape().Equals(want) {
		return nil, fmt.Errorf("the model's output has the shape %s instead of %s", outputs[0].GetShape(), want)
	}
	return pool(e.folder.pooling, output.GetData(), e.folder.dimension), nil
}

// pool returns the vector of a text, not normalized, from those of its tokens.
func pool(mode string, tokens []float32, dimension int) []float32 {
	switch mode {
	case "cls":
		return slices.Clone(tokens[:dimension])
	case "lasttoken":
		return slices.Clone(tokens[len(tokens)-dimension:])
	}
	sum := make([]float32, dimension)
	for i, f := range tokens {
		sum[i%dimension] += f
	}
	return sum
}
