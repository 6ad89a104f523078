package main

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"testing"
)

// Harnesses wait for Kafka's lines by regular expression, so the layout is
// Kafka's to the character.
func TestKafkaLayout(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newKafkaHandler(&out, slog.LevelInfo))
	log.Debug("unseen")
	log.Info("[KafkaRaftServer nodeId=1] Kafka Server started", slog.String("logger", "kafka.server.KafkaRaftServer"))
	log.With(slog.String("dir", "/a b")).WithGroup("g").Warn("slow", slog.Int("took_us", 5), slog.Any("err", errors.New("")))
	want := regexp.MustCompile(`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO \[KafkaRaftServer nodeId=1\] Kafka Server started \(kafka\.server\.KafkaRaftServer\)
\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] WARN slow dir="/a b" g\.took_us=5 g\.err=""
$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("wrote\n%s", &out)
	}
}

// A root level chosen by a variable of an image leaves Kafka's own lines, which
// harnesses wait for.
func TestImageLevel(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newImageHandler(&out, slog.LevelError))
	log.Info("opened")
	log.Warn("slow")
	log.Error("broken")
	log.Debug("beat", slog.String("logger", "kafka.server.X"))
	log.Info("started", slog.String("logger", "kafka.server.X"))
	want := regexp.MustCompile(`^\[[^\]]*\] ERROR broken
\[[^\]]*\] INFO started \(kafka\.server\.X\)
$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("wrote\n%s", &out)
	}
}
