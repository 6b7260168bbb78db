// The command modelsctl serves a real model: until it is interrupted, or for a command.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/models"
)

const usage = `usage: modelsctl [flags] e5|minilm|gemma|onnx [COMMAND ARGS…]

Serve multilingual-e5-small, all-MiniLM-L6-v2 or the language model Gemma 3 270M with the API of OpenAI, or run a
command that uses it: its environment has the variables OXBOW_EMBEDDING_* or OXBOW_REASONER_* of the server. The flags
are for embedding models. With onnx there is no server: a program built with the tag onnx runs all-MiniLM-L6-v2 itself.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("listen", "127.0.0.1:0", "address of the server")
	cached := flag.Bool("cache", true, "keep vectors in the user's cache directory; false to measure rates")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(ctx, flag.Arg(0), *listen, *cached, flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "modelsctl:", err)
		os.Exit(1)
	}
}

// server is a running model.
type server interface {
	Env() []string
	Rate() string
	Close() error
}

func start(ctx context.Context, name, listen string, cached bool) (server, error) {
	switch name {
	case "gemma":
		return models.StartLanguage(ctx)
	case "onnx":
		return models.InstallONNX(ctx)
	}
	return models.Start(ctx, name, listen, cached)
}

func run(ctx context.Context, name, listen string, cached bool, command []string) error {
	server, err := start(context.WithoutCancel(ctx), name, listen, cached)
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, server.Rate())
		_ = server.Close()
	}()
	if len(command) > 0 {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Env = append(os.Environ(), server.Env()...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	}
	for _, variable := range server.Env() {
		fmt.Printf("export '%s'\n", variable)
	}
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Second):
			if now := server.Rate(); now != last {
				fmt.Fprintf(os.Stderr, "%s: %s\n", name, now)
				last = now
			}
		}
	}
}
