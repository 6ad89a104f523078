package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

// format frames a record: its sizes stand before its bytes, -1 for null.
const format = `%t %p %o %T %K %S %h\n%k%s`

// consumer is a running kcat whose output is read.
type consumer struct {
	*script.Inbox

	cmd     *exec.Cmd
	closing chan struct{} // What comes after it is read and forgotten.
	ended   chan struct{} // Its output.
	once    sync.Once
}

func (c *client) consume(args ...string) (*consumer, error) {
	args = append([]string{"-b", c.bootstrap, "-u", "-f", format, "-X", "fetch.wait.max.ms=100", "-X", "fetch.message.max.bytes=8388608"}, args...)
	out := &consumer{
		Inbox: script.NewInbox(), cmd: exec.Command(*program, args...),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	stdout, err := out.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := out.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := out.cmd.Start(); err != nil {
		return nil, err
	}
	go out.read(bufio.NewReader(stdout))
	go out.watch(bufio.NewScanner(stderr))
	return out, nil
}

// read reads records until kcat's output ends.
func (c *consumer) read(in *bufio.Reader) {
	defer close(c.ended)
	for {
		topic, r, err := record(in)
		if err != nil {
			c.Fail(fmt.Errorf("kcat ended: %w", err))
			return
		}
		c.Put(c.closing, topic, r)
	}
}

func record(in *bufio.Reader) (topic string, r script.Record, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", r, err
	}
	var key, value int
	if _, err := fmt.Sscan(line, &topic, &r.Partition, &r.Offset, &r.Timestamp, &key, &value); err != nil {
		return "", r, fmt.Errorf("%q: %w", line, err)
	}
	// Values of headers may hold a comma or a line's end; a script's "bytes" does.
	if fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 7); fields[6] != "" {
		for _, h := range strings.Split(fields[6], ",") {
			name, text, _ := strings.Cut(h, "=")
			r.Headers = append(r.Headers, script.Header{Key: name, Value: []byte(text)})
		}
	}
	if r.Key, err = sized(in, key); err == nil {
		r.Value, err = sized(in, value)
	}
	return topic, r, err
}

func sized(in io.Reader, size int) ([]byte, error) {
	if size < 0 {
		return nil, nil
	}
	b := make([]byte, size)
	_, err := io.ReadFull(in, b)
	return b, err
}

var (
	assigned = regexp.MustCompile(`rebalanced \(memberid [^)]*\): (assigned|revoked): (.*)`)
	part     = regexp.MustCompile(`(\S+) \[(\d+)\]`)
)

// watch reads what kcat says of its group.
func (c *consumer) watch(lines *bufio.Scanner) {
	for lines.Scan() {
		m := assigned.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		var held []string
		for _, p := range part.FindAllStringSubmatch(m[2], -1) {
			held = append(held, p[1]+"/"+p[2])
		}
		if m[1] == "revoked" {
			held = nil
		}
		c.Hold(held)
	}
}

func (c *client) Reader(topic string, partitions int, committed bool, start int64) (script.Consumer, error) {
	level := "read_uncommitted"
	if committed {
		level = "read_committed"
	}
	args := []string{"-C", "-t", topic, "-o", strconv.FormatInt(start, 10), "-X", "isolation.level=" + level}
	if partitions == 1 {
		args = append(args, "-p", "0")
	}
	return c.consume(args...)
}

// Member commits by itself, each second and as it leaves: kcat has no other commit.
func (c *client) Member(group string, topics []string, _ string) (script.Consumer, error) {
	return c.consume(append([]string{
		"-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=10000", "-X", "heartbeat.interval.ms=500",
		"-X", "auto.commit.interval.ms=1000", "-G", group,
	}, topics...)...)
}

func (c *consumer) Commit() error { return nil }

func (c *consumer) CommitAt(string, int, int64) error {
	return script.NotApplicable("kcat commits what it has read, not an offset that is named")
}

// Close ends kcat as a person does, so that it commits and leaves.
func (c *consumer) Close() error {
	var err error
	c.once.Do(func() {
		_ = c.cmd.Process.Signal(syscall.SIGINT)
		timer := time.AfterFunc(wait, func() { _ = c.cmd.Process.Kill() })
		close(c.closing)
		<-c.ended // Its output is read to the end before it is waited for.
		err = c.cmd.Wait()
		timer.Stop()
	})
	return err
}
