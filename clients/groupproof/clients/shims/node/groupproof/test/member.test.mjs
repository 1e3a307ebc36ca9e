// A member of a client that pushes: names of errors, ignored fields, order of lines, the handler's gate.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { Gate, Member, OutcomeUnknown, Refused, Settings, problemOf } from '../index.mjs'
import { write } from '../lines.mjs'

const T0 = { topic: 't', partition: 0 }
const T1 = { topic: 't', partition: 1 }
const RECORDS = [{ ...T0, minOffset: 0, maxOffset: 4, count: 5 }]

class Scripted extends Member {
  lines = []
  answers = [] // what commitOffsets comes to, one after another: an error, or nothing

  constructor({ key, capabilities = ['pause', 'commit-async', 'on-revoked'] } = {}) {
    super(key, { write: (line) => this.lines.push(line), capabilities })
  }

  async start(settings) {
    settings.takeAll({ group: 'groupId', session_timeout_ms: 'session' })
  }

  async commitOffsets() {
    const error = this.answers.shift()
    if (error) throw error
  }

  async committed(partitions) {
    return partitions.map(([topic, partition]) => [topic, partition, 7])
  }

  async stop() {
    this.lines.push({ name: 'stopped' })
  }

  async ask(command, fields = {}) {
    await this.carryOut({ id: 1, command, ...fields })
    return this.lines.at(-1)
  }

  get names() {
    return this.lines.map(({ name }) => name ?? 'answer')
  }
}

const subscribed = async (options) => {
  const member = new Scripted(options)
  await member.ask('subscribe', { group: 'g', session_timeout_ms: 6000, made_up: 1 })
  return member
}

test('a line is written whole though the pipe takes it in parts and is full in between', () => {
  const taken = []
  const full = Object.assign(new Error('full'), { code: 'EAGAIN' })
  const parts = [3, full, 1000]
  write({ name: 'x' }, (_fd, bytes) => {
    const part = parts.shift()
    if (part === full) throw full
    taken.push(bytes.subarray(0, part).toString())
    return Math.min(part, bytes.length)
  })
  assert.equal(taken.join(''), '{"name":"x"}\n')
})

test('nobody at the other end is no error', () => {
  write({ name: 'x' }, () => {
    throw Object.assign(new Error('gone'), { code: 'EPIPE' })
  })
})

test("an error is named as Kafka does, wherever in a client's wrapping the broker's is", () => {
  const protocol = Object.assign(new Error('refused'), { type: 'ILLEGAL_GENERATION' })
  const wrapped = Object.assign(new Error('retries exceeded'), { name: 'KafkaJSNumberOfRetriesExceeded', cause: protocol })
  const several = new AggregateError([Object.assign(new Error('inner'), { apiId: 'FENCED_INSTANCE_ID', code: 'PLT_KFK_PROTOCOL' })], 'outer')
  assert.deepEqual(problemOf(wrapped), { error: 'ILLEGAL_GENERATION', message: 'retries exceeded', fatal: false })
  assert.deepEqual(problemOf(several), { error: 'FENCED_INSTANCE_ID', message: 'outer', fatal: true })
})

test('an error that is none of the broker bears its own name', () => {
  const error = Object.assign(new Error('late'), { name: 'KafkaJSRequestTimeoutError' })
  assert.equal(problemOf(error).error, 'REQUEST_TIMEOUT')
  assert.equal(problemOf(new (class TimeoutError extends Error {})('late')).error, 'TIMEOUT')
  assert.equal(problemOf(new Error('?')).error, 'ERROR')
  assert.equal(problemOf(undefined).error, 'ERROR')
})

test('what nobody took is ignored, and so is an assignor that the client has not', () => {
  const settings = new Settings({ id: 1, command: 'subscribe', group: 'g', instance_id: null, assignors: ['range', 'sticky'], poll_timeout_ms: 100 })
  assert.deepEqual(settings.takeAll({ group: 'groupId', client_id: 'clientId' }), { groupId: 'g' })
  assert.deepEqual(settings.takeAssignors(['roundrobin', 'range']), ['range'])
  assert.deepEqual(settings.ignored, ['assignors', 'poll_timeout_ms'])
})

test('assignors that the client has are taken in the order asked', () => {
  const settings = new Settings({ assignors: ['roundrobin', 'range'] })
  assert.deepEqual(settings.takeAssignors(['range', 'roundrobin']), ['roundrobin', 'range'])
  assert.deepEqual(settings.ignored, [])
})

test('subscribe is answered with what was ignored, after startup_complete', async () => {
  const member = await subscribed()
  assert.deepEqual(member.names, ['startup_complete', 'answer'])
  assert.deepEqual(member.lines.at(-1), { id: 1, ok: true, ignored: ['made_up'] })
})

test('commands before subscribe, made-up ones and a second subscribe are refused by name', async () => {
  const member = new Scripted({ key: 'm0' })
  assert.deepEqual(await member.ask('pause'), { id: 1, error: 'ILLEGAL_STATE', message: 'this member has not subscribed', fatal: false, member: 'm0' })
  assert.match((await member.ask('frobnicate')).unimplemented, /frobnicate/)
  await member.ask('subscribe', { group: 'g' })
  assert.equal((await member.ask('subscribe', { group: 'g' })).error, 'ILLEGAL_STATE')
  assert.match((await member.ask('resubscribe', { topics: ['u'] })).unimplemented, /topics/)
})

test('an assignment gives up the one before it, callbacks in pairs', async () => {
  const member = await subscribed()
  member.assigned([T1, T0])
  member.assigned([T0], { generation: 2 })
  assert.deepEqual(member.names.slice(2), ['partitions_assigned', 'callback_done', 'partitions_revoked', 'callback_done', 'partitions_assigned', 'callback_done'])
  assert.deepEqual(member.lines[4].partitions, [T0, T1])
  assert.equal(member.lines.at(-2).generation, 2)
  assert.deepEqual((await member.ask('assignment')).partitions, [T0])
})

test('cooperative: only what went and what came is told, and what stays keeps its position', async () => {
  const member = await subscribed()
  member.assigned([T0, T1])
  await member.records(RECORDS)
  member.assignedBeside([T0, { topic: 'u', partition: 0 }])
  const [went, came] = member.lines.slice(-4).filter(({ partitions }) => partitions)
  assert.deepEqual([went.name, went.partitions, came.partitions], ['partitions_revoked', [T1], [{ topic: 'u', partition: 0 }]])
  assert.deepEqual((await member.ask('position', { partitions: [['t', 0], ['u', 0]] })).offsets, [['t', 0, 5], ['u', 0, -1]])
})

test('nothing is told as lost or revoked by one who has nothing', async () => {
  const member = await subscribed()
  member.lost()
  member.revoked()
  assert.deepEqual(member.names, ['startup_complete', 'answer'])
})

test('a commit names what the application was given, and its event comes before its answer', async () => {
  const member = await subscribed()
  member.assigned([T0, T1])
  await member.records(RECORDS)
  const answer = await member.ask('commit', { mode: 'sync' })
  assert.deepEqual(answer.offsets, [['t', 0, 5]])
  assert.deepEqual(member.lines.at(-2).offsets, [{ ...T0, offset: 5 }])
  assert.equal(member.lines.at(-2).success, true)
})

test('a commit whose end nobody is told is answered and told as one of unknown outcome', async () => {
  const member = await subscribed()
  member.answers.push(new OutcomeUnknown(), new OutcomeUnknown())

  assert.equal((await member.ask('commit', { mode: 'sync', offsets: [['t', 0, 3]] })).outcome, 'unknown')
  await member.ask('commit', { mode: 'async', offsets: [['t', 0, 3]] })
  await turn()
  const told = member.lines.filter(({ name }) => name === 'offsets_committed')
  assert.deepEqual(told.map(({ outcome, success }) => [outcome, success]), [['unknown', undefined], ['unknown', undefined]])
})

test('a refused commit is told by the event and, if it was waited for, by the answer', async () => {
  const member = await subscribed()
  const refusal = Object.assign(new Error('no'), { type: 'UNKNOWN_MEMBER_ID' })
  member.answers = [refusal, refusal]
  assert.equal((await member.ask('commit', { mode: 'sync', offsets: [['t', 0, 3]] })).error, 'UNKNOWN_MEMBER_ID')
  assert.equal(member.lines.at(-2).success, false)
  await member.ask('commit', { mode: 'async', offsets: [['t', 0, 3]] })
  await turn()
  assert.deepEqual(member.lines.slice(-2).map(({ error }) => error).filter(Boolean), ['UNKNOWN_MEMBER_ID'])
})

test('no record is told between the answers to pause and resume, though the client hands some over', async () => {
  const member = await subscribed()
  await member.ask('pause')
  const handed = member.records(RECORDS)
  await turn()
  assert.equal(member.lines.at(-1).ok, true)
  await member.ask('resume')
  await handed
  assert.equal(member.lines.at(-1).name, 'records_consumed')
})

test('a handler that was let go and shut again at once stays held', async () => {
  const member = await subscribed()
  member.gate.shut()
  const handed = member.records(RECORDS)
  member.gate.open()
  member.gate.shut()
  await turn()
  assert.ok(!member.names.includes('records_consumed'))
  member.gate.open()
  await handed
})

test('a client that cannot be stopped says so', async () => {
  const member = await subscribed({ capabilities: [] })
  assert.match((await member.ask('pause')).unimplemented, /handing records over/)
  assert.equal(member.gate.isShut, false)
})

test('a dialect that nobody here speaks is ignored, and the kit\'s word on brokers is no setting', async () => {
  const ignored = async (fields) => (await new Scripted().ask('subscribe', { group: 'g', ...fields })).ignored
  assert.deepEqual(await ignored({ protocol: 'classic', group_protocol: 'classic', broker_release: '4.1.0' }), [])
  assert.deepEqual(await ignored({ protocol: 'classic', group_protocol: 'consumer' }), ['group_protocol', 'protocol'])
})

test('a client with a way of its own to stop the flow is paused by it', async () => {
  const member = await subscribed()
  const said = []
  member.pauseFlow = async () => said.push('stopped')
  member.resumeFlow = async () => said.push('goes on')
  await member.ask('pause')
  await member.ask('resume')
  assert.deepEqual([said, member.gate.isShut], [['stopped', 'goes on'], false])
})

test('a gate lets pass what waited, and what comes once it is open', async () => {
  const gate = new Gate()
  gate.shut()
  let passed = 0
  const waiting = gate.pass().then(() => passed++)
  await turn()
  assert.equal(passed, 0)
  gate.open()
  await waiting
  await gate.pass()
  assert.equal(passed, 1)
})

test('a slow handler is slow after its records were told', async () => {
  const member = new Scripted()
  await member.ask('subscribe', { group: 'g', handler_delay_ms: 30 })
  let over
  member.wait = (ms) => new Promise((resolve) => (over = () => resolve(assert.equal(ms, 30))))
  let isHandled = false
  const handled = member.records(RECORDS).then(() => (isHandled = true))
  await turn()
  assert.deepEqual([member.lines.at(-1).name, isHandled], ['records_consumed', false])
  over()
  await handled
})

test('close ends once, lets a held handler go, and a forced leave is no feature', async () => {
  const member = await subscribed()
  assert.match((await member.ask('close', { leave: true })).unimplemented, /leaves/)
  await member.ask('pause')
  const handed = member.records(RECORDS)
  await member.ask('close')
  await handed
  await member.close()
  assert.deepEqual(member.names.slice(-3), ['stopped', 'shutdown_complete', 'answer'])
})

test('what a client hands over while it closes is told, as it may commit that, and nothing after its end', async () => {
  const member = await subscribed()
  member.stop = () => member.records(RECORDS)
  await member.ask('close')
  await member.records(RECORDS)
  assert.deepEqual(member.names.slice(-3), ['records_consumed', 'shutdown_complete', 'answer'])
})

test('of wrapped errors the innermost that stands for a code counts', () => {
  const inner = Object.assign(new Error('inner'), { type: 'NOT_COORDINATOR' })
  assert.equal(problemOf(Object.assign(new Error('outer'), { type: 'REQUEST_TIMED_OUT', cause: inner })).error, 'NOT_COORDINATOR')
})

test('what goes is there until the application has done what was asked of it', async () => {
  const member = new Scripted()
  await member.ask('subscribe', { group: 'g', on_revoked: { sleep_ms: 1, commit: true } })
  member.added([T0, T1])
  await member.records(RECORDS)
  await member.givenBack([T0])
  assert.deepEqual(member.names.slice(-3), ['partitions_revoked', 'offsets_committed', 'callback_done'])
  assert.deepEqual(member.lines.at(-2).offsets, [{ ...T0, offset: 5 }])
  assert.deepEqual((await member.ask('assignment')).partitions, [T1])
})

test('what a client does not bring is no feature', async () => {
  const member = await subscribed({ capabilities: [] })
  member.commitOffsets = member.committed = undefined
  assert.match((await member.ask('commit', { mode: 'sync' })).unimplemented, /by itself/)
  assert.match((await member.ask('committed')).unimplemented, /committed/)
})

test('a commit that nobody waits for is no feature of a client that does not claim it', async () => {
  const member = await subscribed({ capabilities: [] })
  assert.match((await member.ask('commit', { mode: 'async', offsets: [['t', 0, 3]] })).unimplemented, /waits/)
})

test("a client's exception is the command's answer", async () => {
  const member = await subscribed()
  member.committed = () => Promise.reject(new Refused('COORDINATOR_NOT_AVAILABLE', 'gone'))
  assert.equal((await member.ask('committed', { partitions: [['t', 0]] })).error, 'COORDINATOR_NOT_AVAILABLE')
})
