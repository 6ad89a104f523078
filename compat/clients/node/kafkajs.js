// KafkaJS as the scripts see it. Snappy, LZ4 and Zstandard are codecs that its users
// plug in.
'use strict'
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, Partitioners, logLevel } = require('kafkajs')
const lz4 = require('lz4-napi')
const zstd = require('@bokuweb/zstd-wasm')

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

function plugCodecs() {
  CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: async (encoder) => lz4.compressFrame(encoder.buffer),
    decompress: async (buffer) => lz4.decompressFrame(buffer),
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
    decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
  })
}

class Producer {
  constructor(js, codec) {
    this.js = js
    this.codec = CODECS[codec]
  }

  // send returns [partition, base offset] of each batch; KafkaJS tells no more.
  async send(topic, records, through = this.js) {
    const messages = records.map((r) => ({
      value: r.value,
      key: r.key ?? null,
      headers: r.headers,
      partition: r.partition,
      timestamp: r.timestamp === undefined ? undefined : String(r.timestamp),
    }))
    const places = await through.send({ topic, messages, compression: this.codec, acks: -1, timeout: 20000 })
    return places.map((p) => [p.partition, Number(p.baseOffset)])
  }

  close() {
    return this.js.disconnect()
  }
}

// Consumer takes what KafkaJS pushes. In a group it commits each batch that it took.
class Consumer {
  constructor(js, commits) {
    this.js = js
    this.records = []
    this.held = []
    this.error = null
    js.on(js.events.GROUP_JOIN, ({ payload }) => {
      this.held = Object.entries(payload.memberAssignment).flatMap(([t, ps]) => ps.map((p) => `${t}/${p}`))
    })
    js.on(js.events.REBALANCING, () => { this.held = [] })
    js.on(js.events.CRASH, ({ payload }) => { this.error = payload.error })
    this.commits = commits
  }

  start(topics) {
    return (async () => {
      await this.js.connect()
      await this.js.subscribe({ topics, fromBeginning: true })
      await this.js.run({
        autoCommit: false,
        eachBatchAutoResolve: true,
        eachBatch: async ({ batch }) => {
          if (!this.commits) return this.take(batch)
          const offset = String(Number(batch.lastOffset()) + 1)
          await this.js.commitOffsets([{ topic: batch.topic, partition: batch.partition, offset }])
          this.take(batch)
        },
      })
    })()
  }

  take(batch) {
    for (const m of batch.messages) {
      this.records.push({
        value: m.value,
        key: m.key,
        headers: m.headers,
        partition: batch.partition,
        timestamp: Number(m.timestamp),
        offset: Number(m.offset),
      })
    }
  }

  commitAt(topic, partition, offset) {
    return this.js.commitOffsets([{ topic, partition, offset: String(offset) }])
  }

  close() {
    return this.js.disconnect()
  }
}

class Client {
  static async make(bootstrap) {
    await zstd.init()
    plugCodecs()
    const client = new Client()
    client.kafka = new Kafka({
      clientId: 'clients', brokers: [bootstrap], logLevel: logLevel.NOTHING,
      connectionTimeout: 5000, requestTimeout: 20000, retry: { retries: 5, initialRetryTime: 100 },
    })
    client.admin = client.kafka.admin()
    client.connected = null
    return client
  }

  codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

  // asks returns the admin client, connected.
  async asks() {
    this.connected ??= this.admin.connect()
    try {
      await this.connected
    } catch (e) {
      this.connected = null
      throw e
    }
    return this.admin
  }

  async producer({ codec = 'none', idempotent = false, transactionalId } = {}) {
    const js = this.kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      allowAutoTopicCreation: false,
      idempotent: idempotent || transactionalId !== undefined,
      transactionalId,
      transactionTimeout: 20000,
      maxInFlightRequests: 1, // A retry must not overtake, and transactions demand it.
    })
    await js.connect()
    return new Producer(js, codec)
  }

  async consumer(groupId, topics, { commits = false, committed = true } = {}) {
    const js = this.kafka.consumer({
      groupId, sessionTimeout: 10000, heartbeatInterval: 500, rebalanceTimeout: 15000, maxWaitTimeInMs: 100,
      maxBytesPerPartition: 8 << 20, readUncommitted: !committed, allowAutoTopicCreation: false,
    })
    const consumer = new Consumer(js, commits)
    await consumer.start(topics)
    return consumer
  }

  async committed(groupId, topic, partition) {
    const [found] = await (await this.asks()).fetchOffsets({ groupId, topics: [topic] })
    return Number(found.partitions.find((p) => p.partition === partition).offset)
  }

  async offsets(topic, partition) {
    const found = (await (await this.asks()).fetchTopicOffsets(topic)).find((p) => p.partition === partition)
    return [Number(found.low), Number(found.high)]
  }

  async offsetForTime(topic, partition, ms) {
    const found = await (await this.asks()).fetchTopicOffsetsByTimestamp(topic, ms)
    return Number(found.find((p) => p.partition === partition).offset)
  }

  async createTopic(topic, numPartitions, config = {}) {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
    const admin = await this.asks()
    const made = await admin.createTopics({
      waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }],
    })
    if (!made) throw Object.assign(new Error('it exists'), { type: 'TOPIC_ALREADY_EXISTS' })
  }

  async topics() {
    return (await this.asks()).listTopics()
  }

  async partitions(topic) {
    return (await (await this.asks()).fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length
  }

  async config(topic, name) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: [name] }
    const found = await (await this.asks()).describeConfigs({ resources: [resource], includeSynonyms: false })
    return found.resources[0].configEntries[0].configValue
  }

  async alterConfig(topic, name, value) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }
    await (await this.asks()).alterConfigs({ resources: [resource] })
  }

  async addPartitions(topic, count) {
    await (await this.asks()).createPartitions({ topicPartitions: [{ topic, count }] })
  }

  async deleteRecords(topic, partition, before) {
    await (await this.asks()).deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
  }

  async groups() {
    return (await (await this.asks()).listGroups()).groups.map((g) => g.groupId)
  }

  async deleteGroup(group) {
    await (await this.asks()).deleteGroups([group])
  }

  async deleteTopic(topic) {
    await (await this.asks()).deleteTopics({ topics: [topic] })
  }

  // errorType is Kafka's name of an error.
  errorType(e) {
    return e.type ?? e.cause?.type ?? `${e.name}: ${e.message}`
  }
}

module.exports = { Client }
