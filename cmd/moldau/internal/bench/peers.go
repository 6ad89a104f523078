package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// peer is a broker in a process of its own that is compared with others.
type peer struct {
	name string
	addr string
	argv []string // Starts it; run again, it starts again on the same data.
	log  string   // The file that its output goes to.
	data string   // Where it keeps its logs, empty if it keeps none.

	process *os.Process   // Nil if it was not started, or was stopped.
	exited  chan struct{} // Closed when the process has ended.
	began   time.Time     // When it was started.
	lost    error         // Why it takes no part any more.
}

// startLimit is how long a broker may take to answer. Apache Kafka with ten thousand
// partitions on a busy machine of two cores needs more than a minute.
const startLimit = 4 * time.Minute

// start runs the process and returns how long it took until it answered a
// request.
func (p *peer) start(ctx context.Context) (time.Duration, error) {
	if err := p.launch(); err != nil {
		return 0, err
	}
	return p.answers(ctx)
}

// launch runs the process and waits for nothing.
func (p *peer) launch() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // The process has its own handle.
	// The context is not the command's: a broker is asked to stop, not killed.
	cmd := exec.Command(p.argv[0], p.argv[1:]...) //nolint:noctx // See above.
	cmd.Stdout, cmd.Stderr = out, out
	p.began = time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.process, p.exited = cmd.Process, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait() // Why it ended is in its log.
		close(exited)
	}(p.exited)
	return nil
}

// answers waits until the process answers a request, and returns how long that
// took from its start.
func (p *peer) answers(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- untilAnswered(ctx, p.addr) }()
	select {
	case <-p.exited:
		p.process = nil
		return 0, fmt.Errorf("%s ended while starting%s", p.name, p.lastWords())
	case err := <-answered:
		took := time.Since(p.began)
		if err != nil {
			err = fmt.Errorf("%s does not answer on %s: %w%s", p.name, p.addr, err, p.lastWords())
			return took, errors.Join(err, p.stop())
		}
		return took, nil
	}
}

// running says whether the process is there.
func (p *peer) running() bool {
	if p.process == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// whileRunning returns a context that ends when the process does: a client would
// go on trying.
func (p *peer) whileRunning(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", short(limit)))
	go func(exited <-chan struct{}) {
		select {
		case <-exited:
			end(fmt.Errorf("%s ended by itself%s", p.name, p.lastWords()))
		case <-ctx.Done():
			end(nil)
		}
	}(p.exited)
	return ctx, cancel
}

// lastWords is the end of the process's log, for errors: the log goes with the
// rest of the comparison's directory.
func (p *peer) lastWords() string {
	const most = 300
	text, err := os.ReadFile(p.log)
	if err != nil {
		return "; " + err.Error()
	}
	end := strings.TrimSpace(string(text[max(len(text)-most, 0):]))
	return "; its log ends: " + end
}

// pid is the process, 0 if it does not run.
func (p *peer) pid() int {
	if p.process == nil {
		return 0
	}
	return p.process.Pid
}

// stopLimit is how long a broker may take to stop before it is killed: Apache
// Kafka closes ten thousand logs one after the other.
const stopLimit = 3 * time.Minute

// stop asks the process to end, and waits until it has. It is an error if it had
// ended before, or if it had to be killed.
func (p *peer) stop() error {
	if p.process == nil {
		return nil
	}
	process, alive := p.process, p.running()
	p.process = nil
	if !alive {
		return fmt.Errorf("%s ended by itself%s", p.name, p.lastWords())
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	kill := time.AfterFunc(stopLimit, func() { _ = process.Kill() })
	<-p.exited
	if !kill.Stop() {
		return fmt.Errorf("%s did not stop within %s and was killed", p.name, short(stopLimit))
	}
	return nil
}

// untilAnswered asks for ApiVersions until something answers.
func untilAnswered(ctx context.Context, addr string) error {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		err := ask(ctx, addr)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// ask sends one ApiVersions request, version 0, and waits for the answer.
func ask(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	q := binary.BigEndian.AppendUint32(nil, 10)
	q = binary.BigEndian.AppendUint16(q, keyAPIVersions)
	q = binary.BigEndian.AppendUint16(q, 0)      // Version.
	q = binary.BigEndian.AppendUint32(q, 1)      // Correlation id.
	q = binary.BigEndian.AppendUint16(q, 0xffff) // No client id.
	if _, err := conn.Write(q); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 8))
	return err
}

// freeAddr returns an address that nobody listens on, and its port.
func freeAddr() (addr, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	_, port, err = net.SplitHostPort(l.Addr().String())
	return l.Addr().String(), port, err
}

// ourPeer is this very program, serving with settings.
func ourPeer(name, dir string, settings ...string) (*peer, error) {
	addr, _, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-"))
	argv := []string{self, "serve", "--data-dir", home, "--listen", addr}
	for _, s := range settings {
		argv = append(argv, "--set", s)
	}
	return &peer{name: name, addr: addr, argv: argv, log: home + ".log", data: home}, nil
}

// floorPeer is the probe.
func floorPeer(dir string) (*peer, error) {
	p, err := ourPeer(nameFloor, dir)
	if err == nil {
		p.argv = []string{p.argv[0], "bench", "floor", "--listen", p.addr, "--dir", dir}
	}
	return p, err
}

// kfakePeer is franz-go's fake, whose program compat/kfake builds.
func kfakePeer(dir, program string) (*peer, error) {
	addr, port, err := freeAddr()
	return &peer{name: nameKfake, addr: addr, argv: []string{program, port}, log: filepath.Join(dir, "kfake.log")}, err
}

// servingPID finds the process in what compat/apache/control prints.
var servingPID = regexp.MustCompile(`serves on (\S+), pid (\d+)`)

// Where Apache Kafka listens: fixed, since the control keeps a folder for each
// port.
const (
	apachePort       = "19392"
	apacheController = "19393"
)

// apachePeer has the control script start Apache Kafka on a port and data
// directory of its own, once, so that jars are there and the data is formatted;
// then it takes over the command line of the process, and stops it.
func apachePeer(ctx context.Context, dir, control string) (*peer, error) {
	data := filepath.Join(dir, "apache")
	env := []string{"APACHE_PORT=" + apachePort, "APACHE_CONTROLLER_PORT=" + apacheController, "APACHE_DATA=" + data}
	script := func(ctx context.Context, arg string) (string, error) {
		cmd := exec.CommandContext(ctx, control, arg)
		cmd.Env = append(os.Environ(), env...)
		// The script's children hold its output open: a file is no pipe to wait for.
		out, err := os.CreateTemp(dir, "control-")
		if err != nil {
			return "", err
		}
		defer func() { _ = out.Close() }()
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Run()
		text, readErr := os.ReadFile(out.Name())
		return string(text), errors.Join(err, readErr)
	}
	text, err := script(ctx, "start")
	if err != nil {
		return nil, fmt.Errorf("%s start: %w\n%s", control, err, text)
	}
	// Whatever happens from here, what the script has started is ended by it.
	defer func() { _, _ = script(context.WithoutCancel(ctx), "stop") }()
	found := servingPID.FindStringSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("%s start does not say which process it started:\n%s", control, text)
	}
	pid, err := strconv.Atoi(found[2])
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	return &peer{name: nameApache, addr: found[1], argv: argv, log: filepath.Join(dir, "apache.log"), data: data}, nil
}
