// What the Node shims share: the line protocol of the shim contract, version 1. Each client's file fills a `Member` in.
//
// Reading order: `run` (the process), `Member` (commands, events and answers), `Settings` (the fields of subscribe), `problemOf` (names of errors).
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const CONTRACT = 1
const CANNOT_RUN_HERE = 89 // before hello: this shim cannot run here
const COMMANDS = new Set(['subscribe', 'resubscribe', 'pause', 'resume', 'commit', 'assignment', 'position', 'committed', 'unsubscribe', 'close', 'exit'])

// What a command that meets it ends more than that command for.
const FATAL = new Set(['FENCED_INSTANCE_ID', 'GROUP_AUTHORIZATION_FAILED', 'TOPIC_AUTHORIZATION_FAILED', 'INVALID_GROUP_ID', 'UNSUPPORTED_VERSION'])

/** Write one line whole, before the next statement runs: process.stdout would hold it back until the event loop turns. */
export function write(line, to = writeSync) {
  let rest = Buffer.from(JSON.stringify(line) + '\n')
  while (rest.length > 0) {
    try {
      rest = rest.subarray(to(1, rest))
    } catch (error) {
      if (error.code === 'EPIPE') return // nobody listens any more: the end of stdin follows
      if (error.code !== 'EAGAIN') throw error // a full pipe: its reader is slow
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

/** A command that the client, or this shim, refuses. */
export class Refused extends Error {
  constructor(error, message) {
    super(message)
    this.name = error
  }
}

/** An error of the client's, under the name that Kafka or its library has for it. */
export class Named extends Error {
  constructor(name, message) {
    super(message)
    this.name = name
    this.type = name
  }
}

/** The client has no such feature; the message says why. */
export class Unimplemented extends Error {}

const upperSnake = (name) =>
  name
    .replace(/^KafkaJS(?=.)/, '')
    .replace(/(?<=.)(Error|Exception)$/, '')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toUpperCase()

const KAFKA_NAME = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/

/** Return every error inside one: clients wrap the broker's in aggregates and causes. The innermost that bears Kafka's name counts. */
function* inside(error, depth = 8) {
  if (!error || depth === 0) return
  yield error
  for (const each of [...(error.errors ?? []), error.cause, error.originalError]) yield* inside(each, depth - 1)
}

/** Name an error as Kafka does (`type` is kafkajs's, `apiId` platformatic's), else as its class is called. */
export function problemOf(error) {
  const message = String(error?.message ?? error)
  for (const each of inside(error)) {
    const name = each.type ?? each.apiId
    if (KAFKA_NAME.test(name ?? '')) return { error: name, message, fatal: FATAL.has(name) }
  }
  const own = [error?.name, error?.constructor?.name].find((name) => name && name !== 'Error') // a class may have left its name to Error
  return { error: upperSnake(own ?? 'Error'), message, fatal: false }
}

/** The fields of `subscribe`; what no shim takes is listed as ignored in the answer. */
export class Settings {
  #fields
  #taken = new Set(['id', 'command', 'member'])

  constructor(command) {
    this.#fields = Object.fromEntries(Object.entries(command).filter(([, value]) => value !== null && value !== undefined))
  }

  take(name, otherwise) {
    this.#taken.add(name)
    return this.#fields[name] ?? otherwise
  }

  /** Take the given fields under the client's own names, leaving out those that were not given. */
  takeAll(names) {
    const given = Object.entries(names).filter(([field]) => field in this.#fields)
    return Object.fromEntries(given.map(([field, setting]) => [setting, this.take(field)]))
  }

  /** Take the assignors that the client has; of several asked, the client must have all, or the field counts as ignored. */
  takeAssignors(known) {
    const asked = this.take('assignors', [known[0]])
    const had = asked.filter((each) => known.includes(each))
    if (had.length < asked.length) this.#taken.delete('assignors')
    return had.length > 0 ? had : [known[0]]
  }

  ignore(name) {
    this.#taken.delete(name)
  }

  get ignored() {
    return Object.keys(this.#fields).filter((name) => !this.#taken.has(name)).sort()
  }
}

/** Holds the application's handler back while the application is paused. */
export class Gate {
  #opened = null
  #open = () => {}

  get isShut() {
    return this.#opened !== null
  }

  shut() {
    this.#opened ??= new Promise((resolve) => (this.#open = resolve))
  }

  open() {
    this.#open()
    this.#opened = null
  }

  async pass() {
    while (this.#opened) await this.#opened
  }
}

const key = (topic, partition) => `${topic}-${partition}`
const inOrder = (partitions) => [...partitions].sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition))

/**
 * One member: its commands in order, its events, its answers.
 *
 * A client's file gives `start(settings)` (make the client, tell it what to join, and return before it has joined), `commitOffsets(offsets, mode)`, `committed(partitions)` and
 * `stop()`; and, where the client can, `leaveGroup()` (unsubscribe), `changeTopics(topics)` (resubscribe), `pauseFlow()` and `resumeFlow()` of its own. It tells what happens by `assigned`, `revoked`, `lost`, `records` and `failed`.
 */
export class Member {
  assignment = []
  gate = new Gate()
  isClosed = false
  #key
  #write
  #positions = new Map()
  #handlerDelayMs = 0
  #hasSubscribed = false
  #hasPause

  constructor(name, { write: to = write, capabilities = [] } = {}) {
    this.#key = name
    this.#write = to
    this.#hasPause = capabilities.includes('pause')
  }

  emit(name, fields = {}) {
    this.#write({ name, timestamp: Date.now(), ...fields, ...(this.#key !== undefined && { member: this.#key }) })
  }

  // What the client tells.

  assigned(partitions, fields = {}) {
    this.revoked() // a client without a word for the revocation has given up what it had when it is assigned anew
    this.#callback('partitions_assigned', partitions, fields)
    this.assignment = inOrder(partitions)
  }

  /** Cooperative: what went and what came; the rest stays with its position. */
  assignedBeside(partitions, fields = {}) {
    const now = new Set(partitions.map(({ topic, partition }) => key(topic, partition)))
    const before = new Set(this.assignment.map(({ topic, partition }) => key(topic, partition)))
    this.revoked(this.assignment.filter(({ topic, partition }) => !now.has(key(topic, partition))))
    this.#callback('partitions_assigned', partitions.filter(({ topic, partition }) => !before.has(key(topic, partition))), fields)
    this.assignment = inOrder(partitions)
  }

  revoked(partitions = this.assignment, name = 'partitions_revoked') {
    if (partitions.length === 0) return
    this.#callback(name, partitions)
    this.#forget(partitions)
  }

  lost() {
    this.revoked(this.assignment, 'partitions_lost')
  }

  /** A callback of the client's own: these came, beside what is there. */
  added(partitions, fields = {}) {
    this.#callback('partitions_assigned', partitions, fields)
    this.assignment = inOrder([...this.assignment, ...partitions])
  }

  /** A callback of the client's own: these go when it returns; `during` is what the application does in it. */
  async givenBack(partitions, during = async () => {}, name = 'partitions_revoked') {
    this.emit(name, { partitions: inOrder(partitions) })
    await during()
    this.#forget(partitions)
    this.emit('callback_done')
  }

  #callback(name, partitions, fields) {
    this.emit(name, { partitions: inOrder(partitions), ...fields })
    this.emit('callback_done')
  }

  #forget(partitions) {
    const gone = new Set(partitions.map(({ topic, partition }) => key(topic, partition)))
    for (const each of gone) this.#positions.delete(each)
    this.assignment = this.assignment.filter(({ topic, partition }) => !gone.has(key(topic, partition)))
  }

  /** The application's handler: `ranges` are [{topic, partition, minOffset, maxOffset, count}]. It is held while paused, and as slow as it was asked to be. */
  async records(ranges) {
    while (this.gate.isShut) await this.gate.pass() // looked at again after each wait: nothing may be written once the pause is answered
    if (this.isClosed) return
    for (const { topic, partition, maxOffset } of ranges) this.#positions.set(key(topic, partition), maxOffset + 1)
    this.emit('records_consumed', { count: ranges.reduce((sum, { count }) => sum + count, 0), partitions: inOrder(ranges) })
    if (this.#handlerDelayMs > 0) await sleep(this.#handlerDelayMs)
  }

  /** Tell an error, and return what was told of it. */
  failed(error, { fatal } = {}) {
    const problem = problemOf(error)
    const told = { ...problem, fatal: fatal ?? problem.fatal }
    this.emit('error', told)
    return told
  }

  positions(partitions = this.assignment.map(({ topic, partition }) => [topic, partition])) {
    return partitions.map(([topic, partition]) => [topic, partition, this.#positions.get(key(topic, partition)) ?? -1])
  }

  /** What a commit without offsets commits: what the application was given of what it owns. */
  consumed() {
    return this.positions().filter(([, , offset]) => offset >= 0)
  }

  // Commands.

  async carryOut(command) {
    try {
      this.#answer(command, { ok: true, ...(await this.#handlerOf(command.command)(command)) })
    } catch (error) {
      if (!(error instanceof Unimplemented || error instanceof Refused)) console.error(error)
      this.#answer(command, error instanceof Unimplemented ? { unimplemented: error.message } : problemOf(error))
    }
  }

  #answer(command, fields) {
    this.#write({ id: command.id, ...fields, ...(this.#key !== undefined && { member: this.#key }) })
  }

  #handlerOf(name) {
    const handlers = {
      subscribe: (command) => this.#subscribe(command),
      resubscribe: ({ topics }) => this.#optional('changeTopics', 'this client cannot change its topics', topics),
      unsubscribe: ({ leave }) => (leave === false ? this.#cannot('this client always leaves') : this.#optional('leaveGroup', 'this client cannot leave and stay')),
      pause: () => (this.#hasPause ? this.pauseFlow() : this.#cannot('this client cannot be stopped from handing records over')),
      resume: () => this.resumeFlow(),
      commit: (command) => this.#commit(command),
      assignment: () => ({ partitions: this.assignment }),
      position: ({ partitions }) => ({ offsets: this.positions(partitions) }),
      committed: async ({ partitions }) => ({ offsets: await this.committed(partitions ?? this.positions().map(([topic, partition]) => [topic, partition])) }),
      close: ({ leave }) => (leave === undefined || leave === null ? this.close() : this.#cannot('this client leaves as it does by itself')),
      exit: () => this.close(),
    }
    if (!COMMANDS.has(name)) return () => this.#cannot(`this shim knows no command ${name}`)
    if (!this.#hasSubscribed && !['subscribe', 'close', 'exit'].includes(name)) return () => this.#refuse('this member has not subscribed')
    return handlers[name]
  }

  #cannot(why) {
    throw new Unimplemented(why)
  }

  #refuse(why) {
    throw new Refused('ILLEGAL_STATE', why)
  }

  async #optional(method, why, ...rest) {
    if (!this[method]) this.#cannot(why)
    await this[method](...rest)
  }

  async #subscribe(command) {
    if (this.#hasSubscribed) this.#refuse('this member has subscribed already')
    const settings = new Settings(command)
    this.#handlerDelayMs = settings.take('handler_delay_ms', 0)
    const dialect = settings.take('protocol', 'classic')
    if (settings.take('group_protocol', dialect) !== 'classic') ['protocol', 'group_protocol'].forEach((name) => settings.ignore(name))
    settings.take('broker_release') // nothing hangs on it: both clients ask the brokers
    await this.start(settings)
    this.#hasSubscribed = true
    this.emit('startup_complete')
    return { ignored: settings.ignored }
  }

  async #commit({ mode, offsets = this.consumed() }) {
    const done = this.#commitAndTell(offsets, mode)
    if (mode === 'sync') await done
    else done.catch(() => {}) // its event has told it
    return { offsets }
  }

  async #commitAndTell(offsets, mode) {
    const listed = offsets.map(([topic, partition, offset]) => ({ topic, partition, offset }))
    try {
      await this.commitOffsets(listed, mode)
    } catch (error) {
      this.tellCommit(listed, error)
      throw error
    }
    this.tellCommit(listed)
  }

  /** Tell the end of a commit; those that the client makes by itself are told so too. */
  tellCommit(offsets, error) {
    this.emit('offsets_committed', { success: !error, ...(error && problemOf(error)), offsets })
  }

  /** Commit what was read from a callback: its event tells a failure, and the rebalance goes on. */
  async commitQuietly() {
    await this.#commitAndTell(this.consumed(), 'sync').catch(() => {})
  }

  /** The handler keeps what it was given; a client that would then miss its heartbeats brings a way of its own. */
  async pauseFlow() {
    this.gate.shut()
  }

  async resumeFlow() {
    this.gate.open()
  }

  async close() {
    if (this.isClosed) return
    this.isClosed = true
    this.gate.open()
    try {
      if (this.#hasSubscribed) await this.stop()
    } finally {
      this.emit('shutdown_complete')
    }
  }
}

/** Return the release of a package that is installed beside the shim, whatever package.json asked for. */
export function installed(name, from) {
  const require = createRequire(from)
  for (const folder of require.resolve.paths(name)) {
    try {
      return require(`${folder}/${name}/package.json`).version.replace(/^v/, '')
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return cannotRunHere(`${name} is not installed: npm ci in the shim's folder`)
}

export function cannotRunHere(why) {
  console.error(why)
  return process.exit(CANNOT_RUN_HERE)
}

/**
 * Serve commands from stdin until its end, SIGTERM, `exit`, or the close of the only member. `make(name, options)` gives a member.
 *
 * Members of one process are told apart by `member` (the capability `multi`); a kit that leaves it out speaks to the only one. With the argument --single the
 * process is one member's, as an application's is: then what one member breaks stays its own, and each start costs what it costs.
 */
export function run({ client, version, capabilities, make }) {
  const isSingle = process.argv.includes('--single')
  capabilities = [...capabilities, ...(isSingle ? [] : ['multi'])]
  globalThis.console = new console.Console(process.stderr) // stdout is the contract's
  const members = new Map()
  const queues = new Map()
  const end = async () => {
    await Promise.allSettled([...members.values()].map((member) => member.close()))
    process.exit(0)
  }
  const handle = async (command) => {
    const name = command.member
    if (!members.has(name) || (members.get(name).isClosed && command.command === 'subscribe')) members.set(name, make(name, { capabilities }))
    await members.get(name).carryOut(command)
    if (command.command === 'exit' || (command.command === 'close' && name === undefined && members.get(name).isClosed)) await end()
  }
  process.on('SIGTERM', end)
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (!line.startsWith('{')) return
    const command = JSON.parse(line)
    queues.set(command.member, (queues.get(command.member) ?? Promise.resolve()).then(() => handle(command)))
  })
  lines.on('close', () => Promise.all(queues.values()).then(end))
  write({ name: 'hello', contract: CONTRACT, client, version, language: 'javascript', capabilities })
}
