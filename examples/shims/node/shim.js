// A shim of level 1 around kafkajs: commands on stdin, events and answers on stdout, one JSON object a line.
'use strict'

const fs = require('node:fs')
const readline = require('node:readline')
const { setTimeout: sleep } = require('node:timers/promises')
const { AssignerProtocol, Kafka, logLevel } = require('kafkajs')
const { version } = require('kafkajs/package.json')

// fs.writeSync, for a line has to be out before the next statement runs: process.stdout holds lines of a pipe back until the event loop turns, and what it holds at process.exit is lost.
const write = (line) => {
  let rest = Buffer.from(JSON.stringify(line) + '\n')
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest))
    } catch (error) {
      if (error.code === 'EPIPE') return // nobody listens any more: the end of stdin follows
      if (error.code !== 'EAGAIN') throw error // a full pipe: its reader is slow
    }
  }
}
const answer = (command, fields) => write({ id: command.id, ...fields })
const refuse = (command, error) => answer(command, { error: error.type || error.name, message: error.message, fatal: false })
const objects = (assignment) =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })))

let consumer = null
let admin = null
let group = ''
let assigned = {}
let handlerDelay = 0
const positions = new Map() // 'topic-partition' to the next offset
const key = (topic, partition) => `${topic}-${partition}`

// kafkajs calls its only assignor RoundRobinAssigner, which no other client knows. An application brings its own to share a group with others; this is Kafka's range.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  protocol: ({ topics }) => ({
    name: 'range',
    metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
  }),
  async assign({ members }) {
    const wishes = members.map(({ memberId, memberMetadata }) => ({ memberId, topics: AssignerProtocol.MemberMetadata.decode(memberMetadata).topics }))
    const given = Object.fromEntries(members.map(({ memberId }) => [memberId, {}]))
    for (const topic of new Set(wishes.flatMap(({ topics }) => topics))) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId).sort((a, b) => a - b)
      const takers = wishes.filter(({ topics }) => topics.includes(topic)).map(({ memberId }) => memberId).sort()
      takers.forEach((memberId, place) => {
        const share = Math.floor(partitions.length / takers.length) + (place < partitions.length % takers.length ? 1 : 0)
        const start = Math.floor(partitions.length / takers.length) * place + Math.min(place, partitions.length % takers.length)
        given[memberId][topic] = partitions.slice(start, start + share)
      })
    }
    return members.map(({ memberId }) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({ version: 0, assignment: given[memberId], userData: Buffer.alloc(0) }),
    }))
  },
})

// kafkajs has no rebalance callbacks, only these events: what was assigned before is given up when a rebalance begins.
function listen() {
  const { GROUP_JOIN, REBALANCING, CRASH } = consumer.events
  const giveUp = (name) => {
    if (objects(assigned).length > 0) write({ name, partitions: objects(assigned) }), write({ name: 'callback_done' })
    assigned = {}
    positions.clear()
  }
  consumer.on(REBALANCING, () => giveUp('partitions_revoked'))
  consumer.on(GROUP_JOIN, ({ payload }) => {
    giveUp('partitions_revoked')
    assigned = payload.memberAssignment
    write({ name: 'partitions_assigned', partitions: objects(assigned), member_id: payload.memberId })
    write({ name: 'callback_done' })
  })
  consumer.on(CRASH, ({ payload }) => {
    giveUp('partitions_lost')
    write({ name: 'error', error: payload.error.type || payload.error.name, message: payload.error.message, fatal: !payload.restart })
  })
}

async function subscribe(command) {
  const { id, command: name, protocol, bootstrap, topics, client_id, session_timeout_ms, heartbeat_interval_ms, max_poll_interval_ms, poll_timeout_ms,
    auto_commit, auto_commit_interval_ms, auto_offset_reset, metadata_max_age_ms, request_timeout_ms, handler_delay_ms, broker_release,
    assignors, ...rest } = command
  const kafka = new Kafka({
    clientId: client_id,
    brokers: bootstrap.split(','),
    logLevel: logLevel.INFO,
    logCreator: toStderr,
    ...(request_timeout_ms && { requestTimeout: request_timeout_ms }),
  })
  handlerDelay = handler_delay_ms || 0
  group = command.group
  delete rest.group
  consumer = kafka.consumer({
    groupId: group,
    partitionAssigners: [range],
    sessionTimeout: session_timeout_ms,
    rebalanceTimeout: max_poll_interval_ms,
    heartbeatInterval: heartbeat_interval_ms,
    maxWaitTimeInMs: poll_timeout_ms,
    ...(metadata_max_age_ms && { metadataMaxAge: metadata_max_age_ms }),
  })
  admin = kafka.admin()
  listen()
  // Nobody awaits this: `run` resolves after the join, and subscribe is answered when the client has been told.
  start(topics, auto_offset_reset === 'earliest', {
    autoCommit: auto_commit,
    ...(auto_commit_interval_ms && { autoCommitInterval: auto_commit_interval_ms }),
    eachBatchAutoResolve: true,
    eachBatch,
  })
  write({ name: 'startup_complete' })
  const ignored = Object.keys(rest).filter((field) => rest[field] !== null)
  answer(command, { ok: true, ignored: [...ignored, ...(assignors.join() === 'range' ? [] : ['assignors'])] })
}

async function start(topics, fromBeginning, options) {
  try {
    await consumer.connect()
    await consumer.subscribe({ topics, fromBeginning })
    await consumer.run(options)
  } catch (error) {
    write({ name: 'error', error: error.type || error.name, message: error.message, fatal: true })
  }
}

const toStderr = () => ({ label, log }) => process.stderr.write(`${label} ${JSON.stringify(log)}\n`)

async function eachBatch({ batch, heartbeat }) {
  const count = batch.messages.length
  const maxOffset = Number(batch.lastOffset())
  const part = { topic: batch.topic, partition: batch.partition, minOffset: Number(batch.firstOffset()), maxOffset, count }
  positions.set(key(batch.topic, batch.partition), maxOffset + 1)
  write({ name: 'records_consumed', count, partitions: [part] })
  await sleep(handlerDelay) // handler_delay_ms: the application is slow in its handler
  await heartbeat()
}

async function commit(command) {
  if (command.mode !== 'sync') return answer(command, { unimplemented: 'kafkajs commits and waits for the answer' })
  const offsets = command.offsets || position()
  const told = offsets.map(([topic, partition, offset]) => ({ topic, partition, offset }))
  try {
    await consumer.commitOffsets(told.map((each) => ({ ...each, offset: String(each.offset) })))
  } catch (error) {
    write({ name: 'offsets_committed', success: false, error: error.type || error.name, offsets: told })
    return refuse(command, error)
  }
  write({ name: 'offsets_committed', success: true, offsets: told })
  answer(command, { ok: true, offsets })
}

const asked = (partitions) => partitions || objects(assigned).map(({ topic, partition }) => [topic, partition])
const position = (partitions) =>
  asked(partitions).map(([topic, partition]) => [topic, partition, positions.get(key(topic, partition)) ?? -1])

async function committed(partitions) {
  const topics = [...new Set(asked(partitions).map(([topic]) => topic))]
  await admin.connect()
  const found = new Map()
  for (const { topic, partitions: each } of await admin.fetchOffsets({ groupId: group, topics })) {
    for (const { partition, offset } of each) found.set(key(topic, partition), Number(offset))
  }
  await admin.disconnect()
  return asked(partitions).map(([topic, partition]) => [topic, partition, found.get(key(topic, partition)) ?? -1])
}

async function close() {
  if (consumer) await consumer.disconnect()
  write({ name: 'shutdown_complete' })
}

const commands = {
  subscribe,
  commit,
  assignment: (command) => answer(command, { ok: true, partitions: objects(assigned) }),
  position: (command) => answer(command, { ok: true, offsets: position(command.partitions) }),
  committed: async (command) => answer(command, { ok: true, offsets: await committed(command.partitions) }),
  async close(command) {
    if (command.leave != null) return answer(command, { unimplemented: 'kafkajs always leaves' })
    await close()
    answer(command, { ok: true })
    process.exit(0)
  },
  async exit(command) {
    await close()
    answer(command, { ok: true })
    process.exit(0)
  },
}

async function handle(line) {
  if (!line.startsWith('{')) return
  const command = JSON.parse(line)
  const carry_out = commands[command.command]
  if (!carry_out) return answer(command, { unimplemented: 'not in this shim' })
  if (!consumer && command.command !== 'subscribe' && command.command !== 'exit') {
    return answer(command, { error: 'ILLEGAL_STATE', message: 'not subscribed', fatal: false })
  }
  try {
    await carry_out(command)
  } catch (error) {
    refuse(command, error)
  }
}

const end = () => close().then(() => process.exit(0))

write({ name: 'hello', contract: 1, client: 'kafkajs', version, language: 'javascript', capabilities: ['classic', 'commit', 'auto-commit'] })
let last = Promise.resolve()
const lines = readline.createInterface({ input: process.stdin })
lines.on('line', (line) => (last = last.then(() => handle(line))))
lines.on('close', () => last.then(end))
process.on('SIGTERM', end)
