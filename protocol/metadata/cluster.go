package metadata

// Config sets or deletes one configuration of a resource.
type Config struct {
	ResourceType int8 // As in the DescribeConfigs request: 2 topic, 4 broker, 16 client metrics, 32 group.
	ResourceName string
	Name         string
	Value        *string // nil deletes it.
}

// Key implements Record.
func (*Config) Key() Key { return KeyConfig }

func (r *Config) fields(c *codec) {
	c.int8(&r.ResourceType)
	c.string(&r.ResourceName)
	c.string(&r.Name)
	c.nullString(&r.Value)
	c.tags()
}

// FeatureLevel finalizes a feature at a level. A log and a snapshot begin with the
// level of metadata.version, so this record never gets a version 1.
type FeatureLevel struct {
	Name         string
	FeatureLevel int16 // 0: the feature is off.
}

// Key implements Record.
func (*FeatureLevel) Key() Key { return KeyFeatureLevel }

func (r *FeatureLevel) fields(c *codec) {
	c.string(&r.Name)
	c.int16(&r.FeatureLevel)
	c.tags()
}

// ProducerIDs gives a block of producer ids to a broker: the block ends before
// NextProducerID.
type ProducerIDs struct {
	BrokerID       int32
	BrokerEpoch    int64
	NextProducerID int64
}

// Key implements Record.
func (*ProducerIDs) Key() Key { return KeyProducerIDs }

func (r *ProducerIDs) fields(c *codec) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.int64(&r.NextProducerID)
	c.tags()
}

// QuotaEntity is one part of what a quota applies to.
type QuotaEntity struct {
	Type string  // user, client-id or ip.
	Name *string // nil is the default entity.
}

// ClientQuota sets or removes one quota.
type ClientQuota struct {
	Entity []QuotaEntity
	Name   string // Which quota: producer_byte_rate and so on. Kafka's field is called Key.
	Value  float64
	Remove bool
}

// Key implements Record.
func (*ClientQuota) Key() Key { return KeyClientQuota }

func (r *ClientQuota) fields(c *codec) {
	array(c, &r.Entity, 3, func(e *QuotaEntity) {
		c.string(&e.Type)
		c.nullString(&e.Name)
		c.tags()
	})
	c.string(&r.Name)
	c.float64(&r.Value)
	c.bool(&r.Remove)
	c.tags()
}

// NoOp changes nothing: it lets observers see time and offsets move.
type NoOp struct{}

// Key implements Record.
func (*NoOp) Key() Key { return KeyNoOp }

func (*NoOp) fields(c *codec) { c.tags() }

// ZkMigrationState is read for the sake of logs that began before Kafka 4.0. It
// means nothing now.
type ZkMigrationState struct {
	State int8
}

// Key implements Record.
func (*ZkMigrationState) Key() Key { return KeyZkMigrationState }

func (r *ZkMigrationState) fields(c *codec) {
	c.int8(&r.State)
	c.tags()
}

// BeginTransaction opens a metadata transaction (KIP-868): what follows takes
// effect only with EndTransaction.
type BeginTransaction struct {
	Name *string // For people.
}

// Key implements Record.
func (*BeginTransaction) Key() Key { return KeyBeginTransaction }

func (r *BeginTransaction) fields(c *codec) {
	c.tags(tag{0, 0, r.Name != nil, func() { c.nullString(&r.Name) }})
}

// EndTransaction puts a metadata transaction into effect.
type EndTransaction struct{}

// Key implements Record.
func (*EndTransaction) Key() Key { return KeyEndTransaction }

func (*EndTransaction) fields(c *codec) { c.tags() }

// AbortTransaction forgets a metadata transaction.
type AbortTransaction struct {
	Reason *string // For people.
}

// Key implements Record.
func (*AbortTransaction) Key() Key { return KeyAbortTransaction }

func (r *AbortTransaction) fields(c *codec) {
	c.tags(tag{0, 0, r.Reason != nil, func() { c.nullString(&r.Reason) }})
}
