package bench

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Names of the brokers that are compared, as the report prints them.
const (
	nameOurs   = "moldau"
	nameHeader = "moldau, header check"
	nameFloor  = "floor"
	nameKfake  = "kfake"
	nameApache = "Apache Kafka"
)

// measure is the figure of a workload that ratios are made of.
type measure int

const (
	cpuPerGiB measure = iota
	cpuPerRecord
	latencyP99
)

// workload is one row of the comparison.
type workload struct {
	name string
	by   measure
	// want is what the figures of ours are held to.
	want target
	// transactions is how many records each transaction has, if it is of such.
	transactions int64
	// except lists brokers that it says nothing about.
	except []string
	// once has it played a single time however many runs are wanted: it is long.
	once bool
	// takes is how long it takes a broker on a quiet machine of two cores, roughly.
	takes func(s scale) time.Duration
	play  func(ctx context.Context, t Target, s scale) (Result, error)
}

// target is what was promised of a workload. Zero promises nothing.
type target struct {
	cpuToFloor  float64 // At most this many times the floor's cost.
	rateToFloor float64 // At least this share of the floor's rate.
	below       []string
	notSlower   []string // At least the rate of these.
	anonBytes   int64
	fileBytes   int64
}

// scale says how much is done: 1 moves a GiB in most workloads.
type scale float64

func (s scale) bytes(n int64) int64 { return max(int64(float64(s)*float64(n)), 1<<20) }
func (s scale) count(n int64) int64 { return max(int64(float64(s)*float64(n)), 100) }

// seconds is bounded below, since percentiles need their time.
func (s scale) seconds(n float64) time.Duration {
	return max(time.Duration(float64(s)*n*float64(time.Second)), 3*time.Second)
}

// produceRow is a workload that sends bytes of records of one size.
func produceRow(name string, bytes int64, want target, load ProduceLoad, partitions int) workload {
	return workload{
		name: name, by: cpuPerGiB, want: want,
		takes: func(s scale) time.Duration {
			if load.Compression != "" {
				return rate(float64(s.bytes(bytes)), 130<<20)
			}
			return rate(float64(s.bytes(bytes)), 280<<20)
		},
		play: func(ctx context.Context, t Target, s scale) (Result, error) {
			t.Partitions = partitions
			load := load
			load.Count = s.bytes(bytes) / int64(load.RecordBytes)
			return Produce(ctx, t, load)
		},
	}
}

// oneByOneRow is a workload of requests with one record each.
func oneByOneRow(name string, count int64, want target, connections int, configs map[string]string) workload {
	return workload{
		name: name, by: cpuPerRecord, want: want,
		takes: func(s scale) time.Duration {
			perSecond := 7000.0
			if connections > 1 {
				perSecond *= 4
			}
			if len(configs) > 0 {
				perSecond /= 4 // They flush.
			}
			return rate(float64(s.count(count)), perSecond)
		},
		play: func(ctx context.Context, t Target, s scale) (Result, error) {
			t.TopicConfigs = maps.Clone(t.TopicConfigs)
			maps.Copy(t.TopicConfigs, configs)
			return Produce(ctx, t, ProduceLoad{
				RecordBytes: 1 << 10, Acks: -1, OneByOne: true, Connections: connections, Count: s.count(count),
			})
		},
	}
}

// consumeRow is a workload that has each consumer read bytes of records, some
// passes over a topic: reading costs so little that one pass over a quarter of a
// GiB could not be told from the clock's tick.
func consumeRow(name string, bytes int64, want target, recordBytes, consumers, passes int) workload {
	return workload{
		name: name, by: cpuPerGiB, want: want,
		takes: func(s scale) time.Duration {
			read := float64(s.bytes(bytes))
			return rate(read*float64(consumers), 550<<20) + rate(read/float64(passes), 280<<20)
		},
		play: func(ctx context.Context, t Target, s scale) (Result, error) {
			return Consume(ctx, t, ConsumeLoad{
				Consumers: consumers,
				Passes:    passes,
				Fill:      ProduceLoad{RecordBytes: recordBytes, Acks: -1, Count: s.bytes(bytes) / int64(passes*recordBytes)},
			})
		},
	}
}

// recordsOfTransaction is how many records each transaction has.
const recordsOfTransaction = 100

// transactRow is a workload of transactions.
func transactRow(name string, count int64, producers int) workload {
	return workload{
		name: name, by: cpuPerRecord, want: target{notSlower: []string{nameApache}},
		takes:        func(s scale) time.Duration { return rate(float64(s.count(count)), 70*float64(producers)) },
		transactions: recordsOfTransaction,
		// The floor knows no transactions.
		except: []string{nameFloor},
		play: func(ctx context.Context, t Target, s scale) (Result, error) {
			return Transact(ctx, t, TransactLoad{
				RecordBytes: 1 << 10, Records: recordsOfTransaction, Producers: producers, Count: s.count(count),
			})
		},
	}
}

// workloads is what is compared at a scale, in the order of the report.
func workloads(s scale) []workload {
	const kib, mib = 1 << 10, 1 << 20
	plain := target{cpuToFloor: 1.5, rateToFloor: 0.65, below: []string{nameKfake, nameApache}}
	packed := target{below: []string{nameApache}}
	read := target{cpuToFloor: 1.3, below: []string{nameKfake, nameApache}}
	small := target{cpuToFloor: 1.5}
	all := func(size int) ProduceLoad { return ProduceLoad{RecordBytes: size, Acks: -1} }
	with := func(load ProduceLoad, change func(*ProduceLoad)) ProduceLoad { change(&load); return load }
	rows := []workload{
		produceRow("produce 100 B", gib, plain, all(100), 1),
		produceRow("produce 1 KiB", gib, plain, all(kib), 1),
		produceRow("produce 10 KiB", gib, plain, all(10*kib), 1),
		produceRow("produce 1 KiB, acks 1", gib, plain, with(all(kib), func(l *ProduceLoad) { l.Acks = 1 }), 1),
		produceRow("produce 1 KiB, 100 partitions", gib, plain, all(kib), 100),
		produceRow("produce 1 KiB, 8 connections", gib, plain, with(all(kib), func(l *ProduceLoad) { l.Connections = 8 }), 8),
		produceRow("produce 1 KiB, 64 connections", gib, plain, with(all(kib), func(l *ProduceLoad) { l.Connections = 64 }), 8),
		produceRow("produce 1 KiB, lz4", gib, packed, with(all(kib), func(l *ProduceLoad) { l.Compression = "lz4" }), 1),
		produceRow("produce 1 KiB, zstd", gib, packed, with(all(kib), func(l *ProduceLoad) { l.Compression = "zstd" }), 1),
		oneByOneRow("one record a request", 40_000, small, 1, nil),
		oneByOneRow("one record a request, 8 connections", 80_000, small, 8, nil),
		oneByOneRow("one record a request, 64 connections", 80_000, small, 64, nil),
		oneByOneRow("flush.messages=1, 1 connection", 8_000, target{}, 1, map[string]string{"flush.messages": "1"}),
		oneByOneRow("flush.messages=1, 64 connections", 40_000, target{}, 64, map[string]string{"flush.messages": "1"}),
		consumeRow("consume 100 B", gib, read, 100, 1, 4),
		consumeRow("consume 1 KiB", 4*gib, read, kib, 1, 8),
		consumeRow("consume 10 KiB", 4*gib, read, 10*kib, 1, 8),
		consumeRow("consume 1 KiB, 8 consumers", gib/2, read, kib, 8, 2),
		transactRow("transactions of 100 records", 1000, 1),
		transactRow("transactions of 100 records, 4 producers", 3000, 4),
		{
			name: "end to end, 1,000 a second", by: latencyP99, want: target{below: []string{nameApache}},
			takes: func(s scale) time.Duration { return s.seconds(20) + 2*warmUp },
			play: func(ctx context.Context, t Target, s scale) (Result, error) {
				return EndToEnd(ctx, t, EndToEndLoad{RecordBytes: kib, RatePerSecond: 1000, Duration: s.seconds(20), Acks: -1})
			},
		},
	}
	// Named after what it does: a tenth of what a name promises is not it.
	long := consumeRow(fmt.Sprintf("consume %s of 10 KiB, once", size(s.bytes(10*gib))), 10*gib, target{anonBytes: 64 * mib, fileBytes: 256 * mib}, 10*kib, 1, 1)
	long.once = true
	rows = append(rows, long)
	for i := range rows {
		switch rows[i].name {
		case "flush.messages=1, 1 connection", "flush.messages=1, 64 connections", long.name:
			// kfake holds records in memory: it flushes nothing, and has no room for
			// so many.
			rows[i].except = append(rows[i].except, nameKfake)
		}
		if want := rows[i].want; rows[i].by != cpuPerGiB || want.cpuToFloor == read.cpuToFloor || rows[i].once {
			// The header check concerns produced batches.
			rows[i].except = append(rows[i].except, nameHeader)
		}
	}
	return rows
}
