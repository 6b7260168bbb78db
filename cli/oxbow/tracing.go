package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/oxbow-memory/oxbow/internal/provider"
)

// traceTimeout bounds how long a worker waits at shutdown until the last traces are sent.
const traceTimeout = 5 * time.Second

// startTracing sends traces to the endpoint that OpenTelemetry's environment variables name, and does nothing without
// one. These variables also set sampling, headers and the service name. Tracing errors are logged and do not affect
// jobs.
func startTracing(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	send, err := sendsTraces()
	if err != nil || !send {
		return func() {}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "oxbow")),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // later options win
	if err != nil {
		return nil, usagef("invalid OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	otel.SetTracerProvider(traces)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("cannot send traces", "error", provider.Reason(err))
	}))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTimeout)
		defer cancel()
		if err := traces.Shutdown(ctx); err != nil {
			log.Warn("cannot send the last traces", "error", provider.Reason(err))
		}
	}, nil
}

// sendsTraces reads the variables that choose an exporter.
func sendsTraces() (bool, error) {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if value := os.Getenv(name); value != "" && value != "http/protobuf" {
			return false, usagef("invalid %s %q: only http/protobuf is supported", name, value)
		}
	}
	switch value := os.Getenv("OTEL_TRACES_EXPORTER"); value {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
			os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "", nil
	default:
		return false, usagef("invalid OTEL_TRACES_EXPORTER %q: expected otlp or none", value)
	}
}
