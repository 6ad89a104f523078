// What the scripts have in common: limits, comparisons, JSON lines.
'use strict'
const crypto = require('node:crypto')
const { isDeepStrictEqual, inspect } = require('node:util')

// A script that is not done by then has failed, and says what it waited for.
const LIMIT_SECONDS = 60

class Failure extends Error {}
class NotApplicable extends Error {}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

class Run {
  constructor(corrupt) {
    this.id = crypto.randomBytes(5).toString('hex')
    this.corrupt = corrupt
    this.waitsFor = 'nothing yet'
    this.without = []
  }

  name(what) {
    return `clients-${this.id}-${what}`
  }

  // same fails unless got equals want. A corrupt run compares with another value, to
  // show that the comparison is one.
  same(what, got, want) {
    if (this.corrupt) want = altered(want)
    if (!isDeepStrictEqual(got, want)) throw new Failure(`${what}: got ${short(got)}, want ${short(want)}`)
  }

  // until calls done until it returns something true.
  async until(what, seconds, done) {
    this.waitsFor = what
    const end = Date.now() + seconds * 1000
    while (!(await done())) {
      if (Date.now() > end) throw new Failure(`waited ${seconds} s for ${what}`)
      await sleep(20)
    }
  }
}

// altered is a value of the same kind that is not equal.
function altered(value) {
  if (Buffer.isBuffer(value)) return Buffer.concat([value, Buffer.from([1])])
  if (Array.isArray(value)) return value.length ? [...value.slice(0, -1), altered(value.at(-1))] : ['?']
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return `${value}?`
}

function short(value) {
  const text = inspect(value, { depth: 4, breakLength: Infinity, maxArrayLength: 8 })
  return text.length <= 200 ? text : `${text.slice(0, 180)}... (${text.length} characters)`
}

// payload returns bytes that a codec can shrink where seed is even, and cannot where
// it is odd: a key stream of AES is as good as random, and the same each time.
function payload(seed, size) {
  if (seed % 2 === 0) return Buffer.alloc(size, `record ${seed}, `)
  const key = Buffer.alloc(16)
  key.writeUInt32BE(seed)
  return crypto.createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}

async function runOne(client, script, corrupt) {
  const run = new Run(corrupt)
  const result = { script: script.name, ok: false }
  const begin = Date.now()
  let timer
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Failure(`not done after ${LIMIT_SECONDS} s`)), LIMIT_SECONDS * 1000)
  })
  try {
    await Promise.race([script(client, run), limit])
    result.ok = true
  } catch (e) {
    if (e instanceof NotApplicable) result.not_applicable = e.message
    else result.error = `${e instanceof Failure ? '' : e.name + ': '}${e.message} (last waited for ${run.waitsFor})`
  }
  clearTimeout(timer)
  result.seconds = Math.round((Date.now() - begin) / 10) / 100
  if (run.without.length) result.without = run.without
  console.log(JSON.stringify(result))
}

async function main(makeClient, scripts) {
  const { values } = require('node:util').parseArgs({
    options: {
      bootstrap: { type: 'string' },
      script: { type: 'string', default: 'all' },
      corrupt: { type: 'boolean', default: false }, // Compare with wrong values: every script must fail.
    },
  })
  const chosen = scripts.filter((s) => values.script === 'all' || values.script === s.name)
  if (!values.bootstrap || !chosen.length) {
    console.error(`usage: run --bootstrap HOST:PORT [--script all|${scripts.map((s) => s.name).join('|')}]`)
    process.exit(2)
  }
  // A promise of the client's own that nobody waits for must not end the run.
  process.on('unhandledRejection', (e) => console.error('unhandled:', e))
  const client = await makeClient(values.bootstrap)
  for (const script of chosen) await runOne(client, script, values.corrupt)
  process.exit(0)
}

module.exports = { Failure, NotApplicable, main, payload, sleep }
