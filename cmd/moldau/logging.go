package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// kafkaHandler writes log lines in the layout that Kafka's own log has by
// default, which harnesses wait for:
//
//	[2026-11-30 12:04:20,977] INFO message key=value (logger)
//
// The attribute "logger" names the logger in parentheses; without it there is
// none.
type kafkaHandler struct {
	out   io.Writer
	mu    *sync.Mutex // Held over one Write; shared by the handlers made from this one.
	level slog.Leveler
	kafka slog.Leveler // For loggers whose name begins with "kafka.".
	attrs string       // Already formatted, each with a space in front.
	name  string
	group string
}

func newKafkaHandler(out io.Writer, level slog.Leveler) *kafkaHandler {
	return &kafkaHandler{out: out, mu: &sync.Mutex{}, level: level, kafka: level}
}

// newImageHandler is newKafkaHandler for the level that an image's variables set
// for the root logger. In Kafka's images the loggers of kafka.* have levels of
// their own, INFO at least, so the lines that harnesses wait for are there even
// when the root says ERROR.
func newImageHandler(out io.Writer, root slog.Level) *kafkaHandler {
	h := newKafkaHandler(out, root)
	h.kafka = min(root, slog.LevelInfo)
	return h
}

func (h *kafkaHandler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= min(h.level.Level(), h.kafka.Level())
}

func (h *kafkaHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] %s %s", r.Time.Format("2006-01-02 15:04:05,000"), levelName(r.Level), r.Message)
	b.WriteString(h.attrs)
	name := h.name
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "logger" {
			name = a.Value.String()
		} else {
			writeAttr(&b, h.group, a)
		}
		return true
	})
	if r.Level < h.levelOf(name) {
		return nil
	}
	if name != "" {
		b.WriteString(" (" + name + ")")
	}
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, b.String())
	return err
}

func (h *kafkaHandler) levelOf(logger string) slog.Level {
	if strings.HasPrefix(logger, "kafka.") {
		return h.kafka.Level()
	}
	return h.level.Level()
}

func (h *kafkaHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	var b strings.Builder
	for _, a := range attrs {
		if a.Key == "logger" {
			next.name = a.Value.String()
		} else {
			writeAttr(&b, h.group, a)
		}
	}
	next.attrs += b.String()
	return &next
}

func (h *kafkaHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.group += name + "."
	return &next
}

// levelName is Kafka's word for a level.
func levelName(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "WARN"
	case l >= slog.LevelInfo:
		return "INFO"
	}
	return "DEBUG"
}

func writeAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, member := range v.Group() {
			writeAttr(b, group+a.Key+".", member)
		}
		return
	}
	var text string
	if v.Kind() == slog.KindTime {
		text = v.Time().Format(time.RFC3339Nano)
	} else {
		text = v.String()
	}
	if text == "" || strings.ContainsAny(text, " \"\n") {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + group + a.Key + "=" + text)
}
