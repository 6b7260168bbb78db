package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// workload is what the chart's Jobs and Deployments say about their container.
type workload struct {
	Kind     string
	Metadata struct {
		Labels map[string]string
	}
	Spec struct {
		Template struct {
			Spec struct {
				Grace           int64 `yaml:"terminationGracePeriodSeconds"`
				SecurityContext struct {
					User int `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []container
			}
		}
	}
}

type container struct {
	Args []string
	Env  []struct {
		Name, Value string
		ValueFrom   struct {
			Secret struct{ Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
	TCP  struct{ Port string }       `yaml:"tcpSocket"`
}

// tryChart renders the chart with helm and runs its containers.
func tryChart(ctx context.Context, db *database, image *image, helm string) {
	rendered, err := exec.CommandContext(ctx, helm, "template", "try", "deploy/helm/oxbow",
		"--values", "deploy/helm/oxbow/ci/default-values.yaml").Output()
	must.OK(err)
	found := map[string]workload{}
	for documents := yaml.NewDecoder(bytes.NewReader(rendered)); ; {
		var w workload
		if err := documents.Decode(&w); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			var ignored *yaml.TypeError // objects of other kinds
			if !errors.As(err, &ignored) {
				must.OK(err)
			}
			continue
		}
		if w.Kind == "Job" || w.Kind == "Deployment" {
			if user := w.Spec.Template.Spec.SecurityContext.User; user != nonroot {
				must.OK(fmt.Errorf("the container runs as user %d", user))
			}
			found[w.Metadata.Labels["app.kubernetes.io/component"]] = w
		}
	}
	migrate := found["migrate"].Spec.Template.Spec.Containers[0]
	must.Get(image.run(ctx, migrate.variables(db), migrate.Args...))
	stopWork := startPod(ctx, found["work"], db, image)
	stopServe := startPod(ctx, found["serve"], db, image)
	serve := found["serve"].Spec.Template.Spec.Containers[0]
	use(ctx, image, serve.variables(db), "chart", "http://"+serve.address("http")+"/v1")
	must.OK(errors.Join(stopServe(), stopWork()))
}

// startPod starts a container and waits until its probes pass.
func startPod(ctx context.Context, w workload, db *database, image *image) (stop func() error) {
	pod := w.Spec.Template.Spec
	c := pod.Containers[0]
	env := c.variables(db)
	started := image.start(ctx, env, func() error {
		return errors.Join(c.check(ctx, image, c.Liveness), c.check(ctx, image, c.Readiness))
	}, c.Args...)
	return func() error { return started.stop(time.Duration(pod.Grace) * time.Second) }
}

// variables returns the variables, with the URL of the login that the key of the Secret stands for.
func (c container) variables(db *database) (env []string) {
	logins := map[string]string{"owner": "oxbow", "worker": "worker", "server": "server"}
	for _, v := range c.Env {
		if key := v.ValueFrom.Secret.Key; key != "" {
			v.Value = db.url(logins[key])
		}
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}

// address is where a port of the container is on this machine, before image.here.
func (c container) address(port string) string {
	for _, p := range c.Ports {
		if p.Name == port {
			return "127.0.0.1:" + strconv.Itoa(p.Port)
		}
	}
	must.OK(fmt.Errorf("the container has no port %q", port))
	return ""
}

func (c container) check(ctx context.Context, image *image, p probe) error {
	if p.HTTP.Path != "" {
		_, err := image.run(ctx, nil, "health", "http://"+c.address(p.HTTP.Port)+p.HTTP.Path)
		return err
	}
	conn, err := net.Dial("tcp", image.here(c.address(p.TCP.Port)))
	if err == nil {
		err = conn.Close()
	}
	return err
}
