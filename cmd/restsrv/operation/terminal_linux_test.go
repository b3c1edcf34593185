package operation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"restsrv/cmd/restsrv/apptest"
)

// openTerminal opens a pseudo-terminal. It returns both ends.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { master.Close() })
	control := func(request uintptr, value *uint32) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Skip("the pseudo-terminal cannot be used: ", errno)
		}
	}
	var lock, number uint32
	control(syscall.TIOCSPTLCK, &lock)
	control(syscall.TIOCGPTN, &number)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("the pseudo-terminal cannot be opened: ", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// launchAt runs the built binary at a terminal, without a password for the administrator.
func launchAt(t *testing.T, terminal *os.File, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(apptest.Binary(t), append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, terminal, terminal, terminal
	cmd.Env = append(os.Environ(), "RESTSRV_ADMIN_PASSWORD=", "TERM=xterm", "NO_COLOR=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if it has ended
	return cmd
}

// colours matches the codes that choose a colour.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestWatchAtTerminal starts a server with -watch at a terminal: it prints the services and
// the next steps, and no record of the log is followed by an empty line.
func TestWatchAtTerminal(t *testing.T) {
	master, terminal := openTerminal(t)
	dir := apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"modules": {"rest": {"globals": {"di": {"a": {"module": "a.js"}}, "authMode": {"a": "none"}}}}}`,
		"a.js":        "module.exports = { 'GET /': () => 'first' };\n",
	})
	var mu sync.Mutex
	var output strings.Builder
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.ReplaceAll(output.String(), "\r\n", "\n")
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			mu.Lock()
			output.Write(b[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	waitFor := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(apptest.Timeout); !strings.Contains(text(), want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the terminal shows no %q:\n%s", want, text())
			}
		}
	}
	cmd := launchAt(t, terminal, dir, "-watch")
	waitFor("restsrv -h lists the commands")
	for _, want := range []string{" serves " + dir + "\n", "  /rest/a      a.js           no credentials\n", "The first account is admin@local, its password is "} {
		if !strings.Contains(text(), want) {
			t.Errorf("the start shows no %q:\n%s", want, text())
		}
	}
	apptest.WriteFile(t, filepath.Join(dir, "a.js"), "module.exports = { 'GET /': ( => 'second' };\n")
	waitFor("the last good version keeps answering")
	apptest.WriteFile(t, filepath.Join(dir, "a.js"), "module.exports = { 'GET /': () => 'third' };\n")
	waitFor("a reloaded in")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	waitFor("msg=stopped")
	_ = cmd.Wait()
	lines := strings.Split(text(), "\n")
	for i, line := range lines[:len(lines)-1] {
		plain := colours.ReplaceAllString(lines[i+1], "")
		if strings.Contains(line, "level=") && i+2 < len(lines) && strings.TrimSpace(plain) == "" && !strings.Contains(lines[i+2], " serves ") && !strings.Contains(lines[i+2], "The first account") {
			t.Errorf("the record %q is followed by an empty line:\n%s", line, text())
		}
	}
}
