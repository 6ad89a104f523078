package metadata

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// frameVersion is the version of the frame around each record. There is only one.
const frameVersion = 1

// Key says which kind of record a frame holds: the apiKey of Kafka's schemas.
type Key uint16

// The keys of Kafka's metadata records. 6, 13 and 16 were never released.
const (
	KeyRegisterBroker            Key = 0
	KeyUnregisterBroker          Key = 1
	KeyTopic                     Key = 2
	KeyPartition                 Key = 3
	KeyConfig                    Key = 4
	KeyPartitionChange           Key = 5
	KeyFenceBroker               Key = 7
	KeyUnfenceBroker             Key = 8
	KeyRemoveTopic               Key = 9
	KeyDelegationToken           Key = 10
	KeyUserScramCredential       Key = 11
	KeyFeatureLevel              Key = 12
	KeyClientQuota               Key = 14
	KeyProducerIDs               Key = 15
	KeyBrokerRegistrationChange  Key = 17
	KeyAccessControlEntry        Key = 18
	KeyRemoveAccessControlEntry  Key = 19
	KeyNoOp                      Key = 20
	KeyZkMigrationState          Key = 21
	KeyRemoveUserScramCredential Key = 22
	KeyBeginTransaction          Key = 23
	KeyEndTransaction            Key = 24
	KeyAbortTransaction          Key = 25
	KeyRemoveDelegationToken     Key = 26
	KeyRegisterController        Key = 27
	KeyClearELR                  Key = 28
	KeyUnregisterController      Key = 29
)

// kinds lists the records: the newest version of each, Kafka's name for it, and
// how to make one whose tagged fields hold their defaults.
var kinds = map[Key]struct {
	name string
	max  int16
	make func() Record
}{
	KeyRegisterBroker:            {"REGISTER_BROKER_RECORD", 4, func() Record { return new(RegisterBroker) }},
	KeyUnregisterBroker:          {"UNREGISTER_BROKER_RECORD", 0, func() Record { return new(UnregisterBroker) }},
	KeyTopic:                     {"TOPIC_RECORD", 0, func() Record { return new(Topic) }},
	KeyPartition:                 {"PARTITION_RECORD", 2, func() Record { return new(Partition) }},
	KeyConfig:                    {"CONFIG_RECORD", 0, func() Record { return new(Config) }},
	KeyPartitionChange:           {"PARTITION_CHANGE_RECORD", 2, func() Record { return NewPartitionChange([16]byte{}, -1) }},
	KeyFenceBroker:               {"FENCE_BROKER_RECORD", 0, func() Record { return new(FenceBroker) }},
	KeyUnfenceBroker:             {"UNFENCE_BROKER_RECORD", 0, func() Record { return new(UnfenceBroker) }},
	KeyRemoveTopic:               {"REMOVE_TOPIC_RECORD", 0, func() Record { return new(RemoveTopic) }},
	KeyDelegationToken:           {"DELEGATION_TOKEN_RECORD", 0, func() Record { return new(DelegationToken) }},
	KeyUserScramCredential:       {"USER_SCRAM_CREDENTIAL_RECORD", 0, func() Record { return new(UserScramCredential) }},
	KeyFeatureLevel:              {"FEATURE_LEVEL_RECORD", 0, func() Record { return new(FeatureLevel) }},
	KeyClientQuota:               {"CLIENT_QUOTA_RECORD", 0, func() Record { return new(ClientQuota) }},
	KeyProducerIDs:               {"PRODUCER_IDS_RECORD", 0, func() Record { return new(ProducerIDs) }},
	KeyBrokerRegistrationChange:  {"BROKER_REGISTRATION_CHANGE_RECORD", 3, func() Record { return new(BrokerRegistrationChange) }},
	KeyAccessControlEntry:        {"ACCESS_CONTROL_ENTRY_RECORD", 0, func() Record { return new(AccessControlEntry) }},
	KeyRemoveAccessControlEntry:  {"REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, func() Record { return new(RemoveAccessControlEntry) }},
	KeyNoOp:                      {"NO_OP_RECORD", 0, func() Record { return new(NoOp) }},
	KeyZkMigrationState:          {"ZK_MIGRATION_STATE_RECORD", 0, func() Record { return new(ZkMigrationState) }},
	KeyRemoveUserScramCredential: {"REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, func() Record { return new(RemoveUserScramCredential) }},
	KeyBeginTransaction:          {"BEGIN_TRANSACTION_RECORD", 0, func() Record { return new(BeginTransaction) }},
	KeyEndTransaction:            {"END_TRANSACTION_RECORD", 0, func() Record { return new(EndTransaction) }},
	KeyAbortTransaction:          {"ABORT_TRANSACTION_RECORD", 0, func() Record { return new(AbortTransaction) }},
	KeyRemoveDelegationToken:     {"REMOVE_DELEGATION_TOKEN_RECORD", 0, func() Record { return new(RemoveDelegationToken) }},
	KeyRegisterController:        {"REGISTER_CONTROLLER_RECORD", 0, func() Record { return new(RegisterController) }},
	KeyClearELR:                  {"CLEAR_ELR_RECORD", 0, func() Record { return new(ClearELR) }},
	KeyUnregisterController:      {"UNREGISTER_CONTROLLER_RECORD", 0, func() Record { return new(UnregisterController) }},
}

// String is the name that kafka-dump-log prints.
func (k Key) String() string {
	if kind, ok := kinds[k]; ok {
		return kind.name
	}
	return "UNKNOWN_RECORD(" + strconv.Itoa(int(k)) + ")"
}

// MaxVersion is the newest version of the record that this package reads and
// writes; -1 for a key it does not know.
func (k Key) MaxVersion() int16 {
	if kind, ok := kinds[k]; ok {
		return kind.max
	}
	return -1
}

// Record is one record of the metadata log: a pointer to one of the structs of this
// package.
type Record interface {
	// Key says which kind of record this is.
	Key() Key

	fields(c *codec)
}

// UnknownKeyError says that a frame holds a kind of record this release does not
// know. Whoever replays a log must stop; whoever only prints one may go on.
type UnknownKeyError struct {
	Key uint32
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("metadata record of unknown kind %d: it was written by a newer release, or by another product", e.Key)
}

// NewerVersionError says that a record is newer than this release can read.
type NewerVersionError struct {
	Key     Key
	Version uint32
	Max     int16 // The newest version this release reads.
}

func (e *NewerVersionError) Error() string {
	return fmt.Sprintf("%s has version %d, this release reads up to %d: it was written by a newer release", e.Key, e.Version, e.Max)
}

// MalformedError says that the bytes of a record are damaged.
type MalformedError struct {
	Key    string // Which record; "frame" if that is not known.
	Reason string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed metadata record (%s): %s", e.Key, e.Reason)
}

// Encode writes the frame and the body of r. The version must be one that r's kind
// has and that can hold what r holds; Level says which one the cluster allows.
func Encode(r Record, version int16) []byte {
	key := r.Key()
	if version < 0 || version > key.MaxVersion() {
		panic(fmt.Sprintf("BUG: %s has no version %d", key, version))
	}
	c := codec{version: version, out: make([]byte, 0, 64)}
	c.out = append(c.out, frameVersion)
	c.out = binary.AppendUvarint(c.out, uint64(key))
	c.out = binary.AppendUvarint(c.out, uint64(version))
	r.fields(&c)
	return c.out
}

// Decode reads one record. The errors are *UnknownKeyError, *NewerVersionError and
// *MalformedError. The record does not alias in.
func Decode(in []byte) (Record, error) {
	r, _, err := DecodeVersion(in)
	return r, err
}

// DecodeVersion is Decode, and also tells the version the record was written in.
func DecodeVersion(in []byte) (Record, int16, error) {
	c := codec{reading: true, in: in}
	var frame, key, version uint64
	c.uvarint(&frame)
	if c.err == nil && frame != frameVersion {
		c.fail("frame version %d, only %d is known", frame, frameVersion)
	}
	c.uvarint(&key)
	c.uvarint(&version)
	if c.err != nil {
		return nil, 0, &MalformedError{Key: "frame", Reason: c.err.Error()}
	}
	if key > math.MaxInt16 {
		return nil, 0, &UnknownKeyError{Key: uint32(key)}
	}
	kind, ok := kinds[Key(key)]
	if !ok {
		return nil, 0, &UnknownKeyError{Key: uint32(key)}
	}
	if version > uint64(kind.max) {
		return nil, 0, &NewerVersionError{Key: Key(key), Version: uint32(version), Max: kind.max}
	}
	r := kind.make()
	c.version = int16(version)
	r.fields(&c)
	if c.err == nil && len(c.in) > 0 {
		c.fail("%d bytes after its end", len(c.in))
	}
	if c.err != nil {
		return nil, 0, &MalformedError{Key: Key(key).String(), Reason: c.err.Error()}
	}
	return r, c.version, nil
}
