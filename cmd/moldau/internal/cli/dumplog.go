package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// maxDumpBytes bounds what one batch may unpack to.
const maxDumpBytes = 1 << 30

func dumpLogCommand() *cobra.Command {
	var records bool
	c := &cobra.Command{
		Use:   "dump-log FILE...",
		Short: "Print what a broker's files hold, Moldau's or Kafka's",
		Long: "Print what a broker's files hold, Moldau's or Kafka's: segments (.log), indexes (.index,\n" +
			".timeindex, .txnindex) and metadata snapshots (.checkpoint). Records of the metadata log, of\n" +
			"committed offsets and of transactions are decoded. No broker is asked.",
		Args: atLeastOne("FILE"),
		RunE: func(cmd *cobra.Command, files []string) error {
			var errs []error
			for _, name := range files {
				if err := dumpFile(cmd.OutOrStdout(), name, records); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", name, err))
				}
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().BoolVarP(&records, "records", "r", false, "print the records of ordinary topics too, not only their batches")
	return c
}

func dumpFile(w io.Writer, name string, records bool) error {
	in, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s (%d bytes)\n", name, len(in))
	switch filepath.Ext(name) {
	case ".log", ".checkpoint":
		return dumpBatches(w, in, decoderFor(name), records)
	case ".index":
		return dumpEntries(w, in, 8, func(e []byte) string {
			return fmt.Sprintf("offset +%d at byte %d", binary.BigEndian.Uint32(e), binary.BigEndian.Uint32(e[4:]))
		})
	case ".timeindex":
		return dumpEntries(w, in, 12, func(e []byte) string {
			return fmt.Sprintf("timestamp %d at offset +%d", int64(binary.BigEndian.Uint64(e)), binary.BigEndian.Uint32(e[8:]))
		})
	case ".txnindex":
		return dumpEntries(w, in, 34, func(e []byte) string {
			at := func(i int) int64 { return int64(binary.BigEndian.Uint64(e[i:])) }
			return fmt.Sprintf("producer %d aborted %d to %d, stable offset then %d", at(2), at(10), at(18), at(26))
		})
	}
	return errors.New("not a kind of file that can be printed; .log, .index, .timeindex, .txnindex and .checkpoint can")
}

// dumpEntries prints a file of equal entries. Zeros after the last one are room
// that a running Kafka keeps.
func dumpEntries(w io.Writer, in []byte, size int, show func([]byte) string) error {
	for i := 0; len(in) >= size; i++ {
		if i > 0 && bytes.Equal(in[:size], make([]byte, size)) {
			return nil
		}
		fmt.Fprintf(w, "  %s\n", show(in[:size]))
		in = in[size:]
	}
	if len(in) > 0 {
		return fmt.Errorf("%d bytes after the last whole entry", len(in))
	}
	return nil
}

// decoder makes a record readable; "" means that it cannot.
type decoder func(key, value []byte) string

// decoderFor chooses by the partition's directory.
func decoderFor(name string) decoder {
	abs, err := filepath.Abs(name)
	if err != nil {
		abs = name
	}
	switch dir := filepath.Base(filepath.Dir(abs)); {
	case filepath.Ext(name) == ".checkpoint", strings.HasPrefix(dir, "__cluster_metadata-"):
		return decodeMetadata
	case strings.HasPrefix(dir, "__consumer_offsets-"):
		return decodeOffsets
	case strings.HasPrefix(dir, "__transaction_state-"):
		return decodeTransaction
	}
	return nil
}

func dumpBatches(w io.Writer, in []byte, decode decoder, records bool) error {
	position := 0
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", position, err)
		}
		state := "crc ok"
		if err := b.CheckCRC(); err != nil {
			state = err.Error()
		}
		fmt.Fprintf(w, "  offsets %d to %d, %d records, epoch %d, %s, producer %d/%d seq %d, time %d%s, %d bytes at %d, %s\n",
			b.BaseOffset(), b.LastOffset(), b.Count(), b.LeaderEpoch(), b.Codec(), b.ProducerID(), b.ProducerEpoch(),
			b.BaseSequence(), b.MaxTimestamp(), kinds(b), b.Size(), position, state)
		if records || decode != nil || b.Control() {
			if err := dumpRecords(w, b, decode); err != nil {
				return fmt.Errorf("at byte %d: %w", position, err)
			}
		}
		position += b.Size()
		in = rest
	}
	return nil
}

func kinds(b batch.Batch) string {
	var s string
	if b.Transactional() {
		s += ", transactional"
	}
	if b.Control() {
		s += ", control"
	}
	if b.LogAppendTime() {
		s += ", append time"
	}
	return s
}

func dumpRecords(w io.Writer, b batch.Batch, decode decoder) error {
	it := b.Records(maxDumpBytes)
	defer it.Close()
	for it.Next() {
		r := it.Record()
		line := ""
		switch {
		case b.Control():
			line = decodeControl(r.Key, r.Value)
		case decode != nil:
			line = decode(r.Key, r.Value)
		}
		if line == "" {
			line = fmt.Sprintf("key %s value %s", quoted(r.Key), quoted(r.Value))
		}
		fmt.Fprintf(w, "    %d: %s\n", it.Offset(), line)
	}
	return it.Err()
}

func quoted(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

// asJSON prints a decoded record.
func asJSON(name string, v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%s %+v", name, v)
	}
	return name + " " + string(out)
}

func decodeControl(key, value []byte) string {
	typ, ok := batch.ControlType(key)
	if !ok {
		return ""
	}
	switch typ {
	case batch.ControlAbort:
		return "ABORT"
	case batch.ControlCommit:
		return "COMMIT"
	}
	r, err := metadata.DecodeControl(typ, value)
	if err != nil {
		return err.Error()
	}
	return asJSON(strings.TrimPrefix(fmt.Sprintf("%T", r), "*metadata."), r)
}

func decodeMetadata(_, value []byte) string {
	r, version, err := metadata.DecodeVersion(value)
	if err != nil {
		return err.Error()
	}
	return asJSON(fmt.Sprintf("%s v%d", r.Key(), version), r)
}

// recordType is the number that the key of a coordinator's record begins with.
func recordType(key []byte) int16 {
	if len(key) < 2 {
		return -1
	}
	return int16(binary.BigEndian.Uint16(key))
}

func decodeOffsets(key, value []byte) string {
	switch typ := recordType(key); typ {
	case 0, 1:
		var k kmsg.OffsetCommitKey
		if k.ReadFrom(key) != nil {
			return ""
		}
		name := fmt.Sprintf("offset of group %s for %s-%d", k.Group, k.Topic, k.Partition)
		if value == nil {
			return name + " deleted"
		}
		var v kmsg.OffsetCommitValue
		if v.ReadFrom(value) != nil {
			return ""
		}
		return fmt.Sprintf("%s = %d (epoch %d, metadata %q, committed %d)", name, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp)
	case 2:
		var k kmsg.GroupMetadataKey
		if k.ReadFrom(key) != nil {
			return ""
		}
		if value == nil {
			return fmt.Sprintf("group %s deleted", k.Group)
		}
		var v kmsg.GroupMetadataValue
		if v.ReadFrom(value) != nil {
			return ""
		}
		return fmt.Sprintf("group %s generation %d, %d members, protocol type %q", k.Group, v.Generation, len(v.Members), v.ProtocolType)
	}
	return ""
}

func decodeTransaction(key, value []byte) string {
	var k kmsg.TxnMetadataKey
	if recordType(key) != 0 || k.ReadFrom(key) != nil {
		return ""
	}
	if value == nil {
		return fmt.Sprintf("transactional id %s deleted", k.TransactionalID)
	}
	var v kmsg.TxnMetadataValue
	if v.ReadFrom(value) != nil {
		return ""
	}
	return fmt.Sprintf("transactional id %s: producer %d/%d, %v, started %d", k.TransactionalID, v.ProducerID, v.ProducerEpoch, v.State, v.StartTimestamp)
}
