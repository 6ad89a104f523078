// The scripts through KafkaJS. See ../README.md.
'use strict'
const { NotApplicable, main, payload } = require('./harness')
const { Client } = require('./kafkajs')

const SIZES = { 1: 20, 100: 20, 10_000: 6, 300_000: 2 }
const range = (n, from = 0) => Array.from({ length: n }, (_, i) => i + from)
const numbered = (n, prefix, partitions = 1) =>
  range(n).map((i) => ({ value: Buffer.from(`${prefix}-${i}`), partition: i % partitions }))
const texts = (records) => records.map((r) => r.value.toString())
const byPlace = (a, b) => a.partition - b.partition || a.offset - b.offset

async function produce(client, topic, records, options) {
  const producer = await client.producer(options)
  try {
    return await producer.send(topic, records)
  } finally {
    await producer.close()
  }
}

function check(...consumers) {
  for (const c of consumers) if (c.error) throw c.error
  return true
}

// read reads a whole topic, for which KafkaJS needs a group: want records, and then
// to see that no more come: the group's consumer is asked to read on to a marker.
async function read(client, run, topic, want, { partitions = 1, committed = false } = {}) {
  const consumer = await client.consumer(run.name(`read-${Math.random()}`), [topic], { committed })
  try {
    await run.until(`${want} records of ${topic}`, 40, () => check(consumer) && consumer.records.length >= want)
    const before = await Promise.all(range(partitions).map((p) => client.offsets(topic, p)))
    await produce(client, topic, range(partitions).map((p) => ({ value: Buffer.from('marker'), partition: p })))
    await run.until('the markers at the end', 20, () => check(consumer) && before.every(([, end], p) =>
      consumer.records.some((r) => r.partition === p && r.offset >= end)))
    return consumer.records.filter((r) => r.offset < before[r.partition][1]).sort(byPlace)
  } finally {
    await consumer.close()
  }
}

// Every codec and size comes back byte for byte.
async function codecs(client, run) {
  const topic = run.name('codecs')
  await client.createTopic(topic, 1)
  const sent = []
  for (const [n, codec] of client.codecs.entries()) {
    const records = Object.entries(SIZES).flatMap(([size, count]) =>
      range(count).map((i) => ({ value: payload(n * 1000 + i, Number(size)) })))
    run.waitsFor = `the acknowledgement of ${records.length} records in ${codec}`
    const places = await produce(client, topic, records, { codec })
    run.same(`base offset of ${codec}`, places, [[0, sent.length]])
    sent.push(...records)
  }
  const got = await read(client, run, topic, sent.length)
  run.same('offsets', got.map((r) => r.offset), range(sent.length))
  got.forEach((r, i) => run.same(`value at offset ${r.offset}`, r.value, sent[i].value))
}

// Headers, nulls, empty values and timestamps come back as they were.
async function headers(client, run) {
  const topic = run.name('headers')
  await client.createTopic(topic, 1)
  const everyByte = Buffer.from(range(256))
  const b = (s) => Buffer.from(s)
  const records = [
    { value: b('v'), key: b('k'), headers: { a: [b('1'), b('3')], b: b('2') } },
    { value: null, key: b('tombstone'), headers: {} },
    { value: b('no key'), key: null, headers: {} },
    { value: b(''), key: b(''), headers: {} },
    { value: everyByte, key: everyByte, headers: { bytes: everyByte, ключ: b('utf-8') } },
    { value: b('v'), key: b('k'), headers: { empty: b('') } },
  ]
  run.without.push('headers whose value is null')
  records.forEach((r, i) => { r.timestamp = 1_700_000_000_000 + i })
  run.waitsFor = 'the acknowledgements'
  await produce(client, topic, records)
  const got = await read(client, run, topic, records.length)
  for (const what of ['value', 'key', 'timestamp']) {
    run.same(`${what} of the records`, got.map((r) => r[what]), records.map((r) => r[what]))
  }
  const plain = (r) => Object.entries(r.headers)
  run.same('headers of the records', got.map(plain), records.map(plain))
}

// Keys stay in their partition, in order.
async function order(client, run) {
  const topic = run.name('order')
  await client.createTopic(topic, 3)
  const records = range(3000).map((i) => ({ value: Buffer.from(`${i}`), key: Buffer.from(`key-${i % 60}`) }))
  run.waitsFor = '3000 acknowledgements'
  const places = await produce(client, topic, records)
  run.same('base offsets', places.sort(), [[0, 0], [1, 0], [2, 0]])
  const got = await read(client, run, topic, 3000, { partitions: 3 })
  run.same('records', got.length, 3000)
  const home = new Map()
  for (const p of range(3)) {
    const mine = got.filter((r) => r.partition === p)
    run.same(`offsets in partition ${p}`, mine.map((r) => r.offset), range(mine.length))
    const numbers = mine.map((r) => Number(r.value))
    run.same(`order in partition ${p}`, numbers, [...numbers].sort((a, b) => a - b))
    for (const r of mine) home.set(`${r.key}`, (home.get(`${r.key}`) ?? new Set()).add(p))
  }
  run.same('partitions of each key', [...home.values()].map((s) => s.size), range(60).map(() => 1))
  run.same('all of them', got.map((r) => Number(r.value)).sort((a, b) => a - b), range(3000))
}

// A record of 3 MiB comes back; one that the topic forbids is refused.
async function large(client, run) {
  const topic = run.name('large')
  await client.createTopic(topic, 1, { 'max.message.bytes': String(4 << 20) })
  const big = payload(7, 3 << 20)
  run.waitsFor = 'the acknowledgement of 3 MiB'
  await produce(client, topic, [{ value: big }])
  run.waitsFor = 'the refusal of 5 MiB'
  const refused = await produce(client, topic, [{ value: payload(9, 5 << 20) }]).then(() => 'accepted', (e) => client.errorType(e))
  run.same('what became of 5 MiB', refused, 'MESSAGE_TOO_LARGE')
  await produce(client, topic, [{ value: Buffer.from('after') }])
  const got = await read(client, run, topic, 2)
  run.same('sizes', got.map((r) => r.value.length), [3 << 20, 5])
  run.same('3 MiB', got[0].value, big)
}

const shared = (consumers, partitions) => () =>
  check(...consumers) && consumers.every((c) => c.held.length > 0) &&
  consumers.flatMap((c) => c.held).sort().join() === [...partitions].sort().join()
const total = (consumers) => consumers.reduce((n, c) => n + c.records.length, 0)

// Two groups read two topics; the members of one share, and nothing comes twice.
async function group(client, run) {
  const topics = [run.name('group-a'), run.name('group-b')]
  const every = topics.flatMap((t) => [`${t}/0`, `${t}/1`])
  for (const t of topics) await client.createTopic(t, 2)
  const pair = await Promise.all(range(2).map(() => client.consumer(run.name('pair'), topics, { commits: true })))
  const alone = await client.consumer(run.name('alone'), topics, { commits: true })
  try {
    await run.until('two members that share four partitions', 40, shared(pair, every))
    await run.until('one member that has four partitions', 40, shared([alone], every))
    for (const t of topics) await produce(client, t, numbered(1000, t, 2))
    await run.until('2000 records in the pair', 20, () => check(...pair) && total(pair) >= 2000)
    await run.until('2000 records alone', 20, () => check(alone) && alone.records.length >= 2000)
  } finally {
    await Promise.all([...pair, alone].map((c) => c.close()))
  }
  const want = topics.flatMap((t) => range(1000).map((i) => `${t}-${i}`)).sort()
  run.same('what the pair read', texts(pair.flatMap((c) => c.records)).sort(), want)
  run.same('what the other read', texts(alone.records).sort(), want)
  for (const g of ['pair', 'alone']) {
    for (const t of topics) {
      for (const p of range(2)) run.same(`committed by ${g}`, await client.committed(run.name(g), t, p), 500)
    }
  }
}

// A member joins and the other leaves; every record is read once and committed.
async function rebalance(client, run) {
  const topic = run.name('moving')
  const name = run.name('classic')
  const every = range(4).map((p) => `${topic}/${p}`)
  await client.createTopic(topic, 4)
  const first = await client.consumer(name, [topic], { commits: true })
  const members = [first]
  try {
    await run.until('the first member to have four partitions', 40, shared([first], every))
    await produce(client, topic, numbered(200, 'one', 4))
    await run.until('200 records', 20, () => check(first) && first.records.length >= 200)

    const second = await client.consumer(name, [topic], { commits: true })
    members.push(second)
    await run.until('two members that share four partitions', 40, shared(members, every))
    run.same('partitions of each', members.map((m) => m.held.length), [2, 2])
    await produce(client, topic, numbered(200, 'two', 4))
    await run.until('400 records', 20, () => check(...members) && total(members) >= 400)
    run.same('records of the second', second.records.length, 100)

    await first.close()
    await run.until('the second member to have four partitions', 40, shared([second], every))
    await produce(client, topic, numbered(200, 'three', 4))
    await run.until('600 records', 20, () => check(second) && total(members) >= 600)
  } finally {
    await Promise.all(members.map((m) => m.close()))
  }
  const want = ['one', 'two', 'three'].flatMap((w) => range(200).map((i) => `${w}-${i}`)).sort()
  run.same('what was read', texts(members.flatMap((m) => m.records)).sort(), want)
  for (const m of members) {
    for (const p of range(4)) {
      const offsets = m.records.filter((r) => r.partition === p).map((r) => r.offset)
      run.same(`order in partition ${p}`, offsets, [...offsets].sort((a, b) => a - b))
    }
  }
  for (const p of range(4)) run.same(`committed in partition ${p}`, await client.committed(name, topic, p), 150)
}

// A group goes on exactly where it committed.
async function resume(client, run) {
  const topic = run.name('resume')
  const name = run.name('resume')
  await client.createTopic(topic, 1)
  await produce(client, topic, numbered(100, 'r'))
  const take = async (want, commit) => {
    const consumer = await client.consumer(name, [topic])
    await run.until(`${want} records`, 40, () => check(consumer) && consumer.records.length >= want)
    await consumer.commitAt(topic, 0, commit)
    await consumer.close()
    return consumer.records
  }
  run.same('first offset', (await take(37, 37))[0].offset, 0)
  run.same('committed', await client.committed(name, topic, 0), 37)
  const got = await take(63, 100)
  run.same('what came after', texts(got), range(63, 37).map((i) => `r-${i}`))
  run.same('committed at the end', await client.committed(name, topic, 0), 100)
}

// Beginning, end, look-up by timestamp, and reading from there.
async function offsets(client, run) {
  const topic = run.name('offsets')
  await client.createTopic(topic, 1)
  const start = 1_700_000_000_000
  await produce(client, topic, range(20).map((i) => ({ value: Buffer.from(`o-${i}`), timestamp: start + i * 1000 })))
  run.same('beginning and end', await client.offsets(topic, 0), [0, 20])
  run.same('offset for a time between', await client.offsetForTime(topic, 0, start + 5500), 6)
  run.same('offset for a time exactly', await client.offsetForTime(topic, 0, start + 5000), 5)
  // KafkaJS answers with the end where there is none.
  run.same('offset for a time after all', await client.offsetForTime(topic, 0, start + 50_000), 20)
  const name = run.name('offsets')
  await (await client.asks()).setOffsets({ groupId: name, topic, partitions: [{ partition: 0, offset: '12' }] })
  const consumer = await client.consumer(name, [topic])
  try {
    await run.until('8 records from offset 12', 30, () => check(consumer) && consumer.records.length >= 8)
  } finally {
    await consumer.close()
  }
  run.same('records from offset 12', texts(consumer.records), range(8, 12).map((i) => `o-${i}`))
}

// An idempotent producer of many batches: nothing lost, nothing twice, in order.
async function idempotent(client, run) {
  const topic = run.name('idempotent')
  await client.createTopic(topic, 2)
  const producer = await client.producer({ idempotent: true })
  run.waitsFor = '5000 acknowledgements'
  for (const n of range(10)) {
    await producer.send(topic, range(500).map((i) => ({ value: Buffer.from(`${n * 500 + i}`), partition: i % 2 })))
  }
  await producer.close()
  const got = await read(client, run, topic, 5000, { partitions: 2 })
  for (const p of range(2)) {
    const mine = got.filter((r) => r.partition === p).map((r) => Number(r.value))
    run.same(`partition ${p}`, mine, range(2500).map((i) => 2 * i + p))
  }
}

// Commit, abort, offsets in a transaction, and fencing.
async function transactions(client, run) {
  const [source, topic, name] = [run.name('txn-in'), run.name('txn-out'), run.name('txn')]
  for (const t of [source, topic]) await client.createTopic(t, 1)
  await produce(client, source, numbered(10, 'in'))

  const producer = await client.producer({ transactionalId: name })
  const transact = async (records, end, offset) => {
    run.waitsFor = `a transaction to ${end}`
    const txn = await producer.js.transaction()
    await producer.send(topic, records, txn)
    if (offset !== undefined) {
      const topics = [{ topic: source, partitions: [{ partition: 0, offset: String(offset) }] }]
      await txn.sendOffsets({ consumerGroupId: name, topics })
    }
    await txn[end]()
  }
  await transact(numbered(10, 'committed'), 'commit')
  await transact(numbered(10, 'aborted'), 'abort')

  const take = async (want, then) => {
    const consumer = await client.consumer(name, [source])
    await run.until(`${want} records of the source`, 40, () => check(consumer) && consumer.records.length >= want)
    await then(consumer.records)
    await consumer.close()
  }
  await take(10, (got) => transact(got.map((r) => ({ value: Buffer.concat([Buffer.from('out-'), r.value]) })), 'commit', 7))
  run.same('offset committed in the transaction', await client.committed(name, source, 0), 7)
  await take(3, (got) => {
    run.same('where the group went on', got.map((r) => r.offset), [7, 8, 9])
    return transact(numbered(1, 'aborted-too'), 'abort', 10)
  })
  run.same('offset after the abort', await client.committed(name, source, 0), 7)

  const committed = [...range(10).map((i) => `committed-${i}`), ...range(10).map((i) => `out-in-${i}`)]
  const everything = [
    ...committed.slice(0, 10), ...range(10).map((i) => `aborted-${i}`), ...committed.slice(10), 'aborted-too-0',
  ]
  // The first read leaves its marker in the topic.
  run.same('read committed', texts(await read(client, run, topic, 20, { committed: true })), committed)
  run.same('read uncommitted', texts(await read(client, run, topic, 32)), [...everything, 'marker'])

  // KafkaJS takes its transactional id with the first transaction, not when it connects.
  run.waitsFor = 'a second producer with the same id'
  const fenced = await producer.js.transaction()
  await producer.send(topic, numbered(1, 'fenced'), fenced)
  const second = await client.producer({ transactionalId: name })
  const txn = await second.js.transaction()
  run.waitsFor = 'the first producer to be fenced'
  const outcome = await fenced.commit().then(() => 'not fenced', (e) => client.errorType(e))
  run.same('the first producer', ['PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH'].includes(outcome) || outcome, true)
  await second.send(topic, numbered(1, 'second'), txn)
  await txn.commit()
  await second.close()
  await producer.close().catch(() => {})
  const got = texts(await read(client, run, topic, 23, { committed: true }))
  run.same('read committed at last', got, [...committed, 'marker', 'marker', 'second-0'])
}

// Topics, partitions, configurations, deletion of records, and groups.
async function admin(client, run) {
  const [topic, name] = [run.name('admin'), run.name('admin')]
  await client.createTopic(topic, 2, { 'retention.ms': '86400001' })
  await run.until('two partitions', 10, async () => (await client.partitions(topic)) === 2)
  run.same('a topic of that name', (await client.topics()).includes(topic), true)
  const again = await client.createTopic(topic, 2).then(() => 'created', (e) => client.errorType(e))
  run.same('a second topic of that name', again, 'TOPIC_ALREADY_EXISTS')
  run.same('retention.ms', await client.config(topic, 'retention.ms'), '86400001')
  await client.alterConfig(topic, 'retention.ms', '86400002')
  await run.until('the new retention.ms', 10, async () => (await client.config(topic, 'retention.ms')) === '86400002')
  await client.addPartitions(topic, 4)
  await run.until('four partitions', 10, async () => (await client.partitions(topic)) === 4)
  // KafkaJS asks for the offsets of all partitions at once; new ones have no leader yet.
  await run.until('four partitions with leaders', 10, () => client.offsets(topic, 3).then(() => true, () => false))

  await produce(client, topic, numbered(10, 'a').map((r) => ({ ...r, partition: 0 })))
  await client.deleteRecords(topic, 0, 4)
  run.same('beginning after the deletion', await client.offsets(topic, 0), [4, 10])

  const consumer = await client.consumer(name, [topic], { commits: true })
  try {
    await run.until('6 records', 40, () => check(consumer) && consumer.records.length >= 6)
  } finally {
    await consumer.close()
  }
  run.same('records that are left', consumer.records.map((r) => r.offset), range(6, 4))
  run.same('the group in the list', (await client.groups()).includes(name), true)
  await client.deleteGroup(name)
  run.same('the group in the list after its deletion', (await client.groups()).includes(name), false)
  await client.deleteTopic(topic)
  await run.until('the topic to be gone', 10, async () => !(await client.topics()).includes(topic))
}

// KafkaJS has no consumer of KIP-848.
async function kip848() {
  throw new NotApplicable('KafkaJS speaks the classic protocol alone')
}

main(Client.make, [
  codecs, headers, order, large, group, rebalance, resume, offsets, idempotent, transactions, admin, kip848,
])
