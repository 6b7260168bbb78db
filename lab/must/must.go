// Package must lets the laboratory's programs end at the first error, as a test does.
package must

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program, with a context that an interrupt ends, and exits with 1 at the first error.
func Main(name string, do func(ctx context.Context)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Try(func() { do(ctx) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

type failure struct{ error }

// OK ends the enclosing Try if err is not nil.
func OK(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get returns a value, or ends the enclosing Try if err is not nil.
func Get[T any](value T, err error) T {
	OK(err)
	return value
}

// Try calls do and returns the error that ended it. A goroutine needs a Try of its own.
func Try(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			panic(p)
		}
	}()
	do()
	return nil
}
