# The image contains only the program: no shell, no package manager. It runs as an unprivileged user.
#
#   docker build -t oxbow .
#   docker buildx build --platform linux/amd64,linux/arm64 -t oxbow .
#   docker run --rm -e DATABASE_URL=… oxbow migrate up
ARG GO_VERSION=1.26

# The compiler runs on the builder's platform and compiles for the image's.
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
ARG TARGETOS TARGETARCH
ENV GOCACHE=/cache
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /oxbow ./cli/oxbow

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /oxbow /usr/local/bin/oxbow
ENTRYPOINT ["oxbow"]
CMD ["work"]
