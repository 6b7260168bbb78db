package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// tryUnits boots systemd in a container with this machine's /usr, and uses the units that it starts.
func tryUnits(ctx context.Context, dir string, db *database, image *image) {
	metrics, api := "127.0.0.1:"+freePort(), "127.0.0.1:"+freePort()
	files := map[string]string{
		"etc/os-release":      string(must.Get(os.ReadFile("/etc/os-release"))),
		"etc/oxbow/work.env":  "DATABASE_URL=" + db.url("worker") + "\nOXBOW_METRICS_ADDR=" + metrics + "\n",
		"etc/oxbow/serve.env": "DATABASE_URL=" + db.url("server") + "\nOXBOW_ADDR=" + api + "\n",
		"etc/systemd/system/try.target": "[Unit]\nAfter=basic.target\n" +
			"Wants=systemd-journald.service oxbow-work.service oxbow-serve.service\n",
	}
	for _, unit := range []string{"oxbow-work.service", "oxbow-serve.service"} {
		files["etc/systemd/system/"+unit] = string(must.Get(os.ReadFile("deploy/systemd/" + unit)))
	}
	for name, text := range files {
		must.OK(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.OK(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"usr", "var", "run", "tmp", "proc", "sys", "dev", "root"} {
		must.OK(os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		must.OK(os.Symlink("usr/"+name, filepath.Join(dir, name)))
	}
	// It would ask for a time zone and a password.
	must.OK(os.Symlink("/dev/null", filepath.Join(dir, "etc/systemd/system/systemd-firstboot.service")))

	container := exec.CommandContext(ctx, "systemd-nspawn", "--quiet", "--directory="+dir, "--bind-ro=/usr",
		"--bind-ro="+filepath.Join(image.root, "usr/local/bin")+":/usr/local/bin", "--machine=oxbow-try",
		"--register=no", "--keep-unit", "--boot", "systemd.unit=try.target", "systemd.journald.forward_to_console=1")
	var log bytes.Buffer
	container.Stdout, container.Stderr = &log, &log
	must.OK(container.Start())
	ended := make(chan error, 1)
	go func() { ended <- container.Wait() }()
	err := must.Try(func() {
		must.OK(until(ctx, func() error {
			_, work := image.run(ctx, nil, "health", "http://"+metrics+"/readyz")
			_, serve := image.run(ctx, nil, "health", "http://"+api+"/v1/health")
			return errors.Join(work, serve)
		}))
		use(ctx, image, []string{"DATABASE_URL=" + db.url("server")}, "systemd", "http://"+api+"/v1")
	})
	_ = container.Process.Signal(syscall.SIGTERM) // shuts down
	select {
	case stopped := <-ended:
		err = errors.Join(err, wrap("systemd-nspawn", stopped))
	case <-time.After(patience):
		_ = container.Process.Kill()
		err = errors.Join(err, errors.New("the container does not shut down"), <-ended)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "oxbow-") && strings.Contains(line, "Failed with result") {
			err = errors.Join(err, errors.New(strings.TrimSpace(line)))
		}
	}
	if err != nil {
		must.OK(fmt.Errorf("%w:\n%s", err, &log))
	}
	for _, says := range []string{"Stopped", "msg=stopping"} {
		if !strings.Contains(log.String(), says) {
			must.OK(fmt.Errorf("the log lacks %q:\n%s", says, &log))
		}
	}
}
