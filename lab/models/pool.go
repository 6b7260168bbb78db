package models

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// callTexts is the number of texts per call of a process.
const callTexts = 16

// pool runs embed.py once for each core, each with one thread: threads of one process wait for the slowest of them.
type pool struct {
	dimension int
	all       []*process
	idle      chan *process
}

type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPool(ctx context.Context, name string, dimension int) (*pool, error) {
	python, root, err := environment(ctx, "lab/models/requirements.txt")
	if err != nil {
		return nil, err
	}
	p := &pool{dimension: dimension, idle: make(chan *process, runtime.NumCPU())}
	for range cap(p.idle) {
		started, err := startProcess(ctx, python, filepath.Join(root, "lab/models/embed.py"), name)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.all = append(p.all, started)
		p.idle <- started
		if err := started.embed([]string{"query: Hello."}, make([][]float32, 1), dimension); err != nil { // it has loaded
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func startProcess(ctx context.Context, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

func (p *pool) close() (err error) {
	for _, each := range p.all {
		err = errors.Join(err, each.in.Close(), each.cmd.Wait())
	}
	return err
}

// embed returns the vectors of texts.
func (p *pool) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(texts); from += callTexts {
		to := min(from+callTexts, len(texts))
		group.Go(func() error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case process := <-p.idle:
				defer func() { p.idle <- process }()
				return process.embed(texts[from:to], vectors[from:to], p.dimension)
			}
		})
	}
	return vectors, group.Wait()
}

func (p *process) embed(texts []string, vectors [][]float32, dimension int) error {
	line, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the model ended: %w", err)
	}
	raw := make([]byte, 4*dimension*len(texts))
	if _, err := io.ReadFull(p.out, raw); err != nil {
		return fmt.Errorf("the model ended: %w", err)
	}
	for i := range vectors {
		vectors[i] = decode(raw[4*dimension*i : 4*dimension*(i+1)])
	}
	return nil
}

func decode(raw []byte) []float32 {
	vector := make([]float32, len(raw)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return vector
}

func encode(vector []float32) []byte {
	raw := make([]byte, 0, 4*len(vector))
	for _, f := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return raw
}
