package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// producer is a client that puts each line of a text into a topic as one record.
type producer struct {
	name string
	// start returns the function that does the work; start itself may skip the test.
	start func(t *testing.T, addr, topic string) func(ctx context.Context, lines io.Reader) error
}

// producers are the clients that a text goes in by. All are idempotent with
// acks=all and retry for as long as a restart takes, so that a line that was
// acknowledged is there once.
var producers = []producer{
	{"kcat", kcatProducer},
	{"console", consoleProducer},
	{"franz-go", franzProducer},
	{"sarama", saramaProducer},
}

func kcatProducer(t *testing.T, addr, topic string) func(context.Context, io.Reader) error {
	path := kcat(t)
	return func(ctx context.Context, lines io.Reader) error {
		// With -E it lives on while its only broker is away.
		return pipe(exec.CommandContext(ctx, path, "-P", "-E", "-b", addr, "-t", topic,
			"-X", "enable.idempotence=true", "-X", "acks=all", "-X", "message.timeout.ms=120000",
			"-X", "reconnect.backoff.max.ms=500"), lines, nil)
	}
}

func consoleProducer(t *testing.T, addr, topic string) func(context.Context, io.Reader) error {
	path := apacheTool(t, "kafka-console-producer")
	return func(ctx context.Context, lines io.Reader) error {
		return pipe(exec.CommandContext(ctx, path, "--bootstrap-server", addr, "--topic", topic,
			"--message-send-max-retries", "2147483647", "--timeout", "20",
			"--command-property", "enable.idempotence=true", "--command-property", "acks=all",
			"--command-property", "reconnect.backoff.max.ms=500"), lines, nil)
	}
}

// pipe runs a program over lines; what it prints goes to out. A program that says
// on standard error that a line was not delivered has failed, whatever its exit
// code: the console producer's is 0.
func pipe(cmd *exec.Cmd, lines io.Reader, out io.Writer) error {
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = lines, out, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	if s := stderr.Bytes(); bytes.Contains(s, []byte("ERROR Error when sending")) || bytes.Contains(s, []byte("Delivery failed")) {
		return fmt.Errorf("%s complained:\n%s", cmd, stderr.String())
	}
	return nil
}

func franzProducer(_ *testing.T, addr, topic string) func(context.Context, io.Reader) error {
	return func(ctx context.Context, lines io.Reader) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic),
			kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64<<10, true, true, nil)),
			kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
		if err != nil {
			return err
		}
		defer client.Close()
		var failed firstError
		in := bufio.NewScanner(lines)
		for in.Scan() {
			client.Produce(ctx, &kgo.Record{Value: bytes.Clone(in.Bytes())}, func(_ *kgo.Record, err error) { failed.add(err) })
		}
		return errors.Join(in.Err(), client.Flush(ctx), failed.get())
	}
}

func saramaProducer(_ *testing.T, addr, topic string) func(context.Context, io.Reader) error {
	return func(_ context.Context, lines io.Reader) error {
		config := saramaConfig()
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll
		config.Net.MaxOpenRequests = 1 // What its idempotence asks for.
		config.Producer.Partitioner = sarama.NewRoundRobinPartitioner
		config.Producer.Retry.Max = 1000
		config.Producer.Retry.Backoff = 50 * time.Millisecond
		config.Producer.Flush.Frequency = 5 * time.Millisecond
		config.Producer.Return.Successes = true
		p, err := sarama.NewAsyncProducer([]string{addr}, config)
		if err != nil {
			return err
		}
		var failed firstError
		var answered, drained sync.WaitGroup
		drained.Go(func() {
			for e := range p.Errors() {
				failed.add(e)
				answered.Done()
			}
		})
		drained.Go(func() {
			for range p.Successes() {
				answered.Done()
			}
		})
		in := bufio.NewScanner(lines)
		for in.Scan() {
			answered.Add(1)
			p.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(bytes.Clone(in.Bytes()))}
		}
		answered.Wait() // A producer that is closed gives up what it still has to retry.
		p.AsyncClose()
		drained.Wait()
		return errors.Join(in.Err(), failed.get())
	}
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = "integration"
	config.Metadata.Retry.Max = 1000
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	return config
}

// firstError keeps the first of many errors. Any goroutine may use it.
type firstError struct {
	mu struct {
		sync.Mutex
		err error
	}
}

func (f *firstError) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err == nil {
		f.mu.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.err
}
