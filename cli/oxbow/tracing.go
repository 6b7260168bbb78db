package main

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// traceTime is how long a worker waits at its end for the last traces to be sent.
const traceTime = 5 * time.Second

// startTracing sends traces to the address that OpenTelemetry's environment variables name, and
// does nothing without one. These variables also set sampling, headers and the service name.
// Tracing errors are logged and do not affect jobs.
func (a *app) startTracing(ctx context.Context) (stop func(), err error) {
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
		return nil, usagef("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	otel.SetTracerProvider(provider)
	log := a.serviceLogger()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", "error", err) }))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTime)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last traces were not sent", "error", err)
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
			return false, usagef("%s is %q: traces are sent by http/protobuf only", name, value)
		}
	}
	switch value := os.Getenv("OTEL_TRACES_EXPORTER"); value {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "", nil
	default:
		return false, usagef("OTEL_TRACES_EXPORTER is %q: use otlp or none", value)
	}
}
