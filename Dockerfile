# The image contains only the program and its licenses: no shell, no package manager. It runs as an unprivileged user
# and writes nothing.
#
#   docker build -t oxbow .
#   docker buildx build --platform linux/amd64,linux/arm64 -t oxbow .
#   docker run --rm --read-only -e DATABASE_URL=… oxbow migrate up

# The compiler runs on the builder's platform and compiles for the image's. Images are pinned by their digests, of all
# platforms: a tag may change.
FROM --platform=$BUILDPLATFORM golang:1.26.5@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647 AS build
ARG TARGETOS TARGETARCH
ENV GOCACHE=/cache
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /oxbow ./cli/oxbow

FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab
LABEL org.opencontainers.image.title="Oxbow" \
      org.opencontainers.image.description="Long-term memory for applications, inside their PostgreSQL" \
      org.opencontainers.image.source="https://github.com/oxbow-memory/oxbow" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /oxbow /usr/local/bin/oxbow
COPY LICENSE THIRD_PARTY_NOTICES.md /usr/share/doc/oxbow/
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Inside a container, 127.0.0.1 cannot be reached from outside.
ENV OXBOW_ADDR=0.0.0.0:8080 OXBOW_METRICS_ADDR=0.0.0.0:9464
EXPOSE 8080 9464
ENTRYPOINT ["oxbow"]
CMD ["work"]
