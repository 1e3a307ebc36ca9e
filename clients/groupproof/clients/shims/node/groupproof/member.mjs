// One member of a Kafka client behind the shim contract: its commands, its events, its answers.
import { setTimeout as sleep } from 'node:timers/promises'

import { Gate } from './gate.mjs'
import { write } from './lines.mjs'
import { OutcomeUnknown, Refused, Unimplemented, problemOf } from './problems.mjs'
import { Settings } from './settings.mjs'

const UNKNOWN = { outcome: 'unknown' }
const COMMANDS = new Set(['subscribe', 'resubscribe', 'pause', 'resume', 'commit', 'assignment', 'position', 'committed', 'unsubscribe', 'close', 'exit'])

const key = (topic, partition) => `${topic}-${partition}`
const inOrder = (partitions) => [...partitions].sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition))

/**
 * One member: its commands in order, its events, its answers. As it stands it is a client's that pushes: the client calls a handler, and the handler calls
 * `received` or `records`, which hold it back while the member is paused.
 *
 * A client's file gives `start(settings)` (make the client, have it join, and return before it has joined) and `stop()`; and, where the client can,
 * `commitOffsets(offsets, mode)`, `committed(partitions)`, `leaveGroup()` (unsubscribe), `changeTopics(topics)` (resubscribe), and `pauseFlow()` and
 * `resumeFlow()` of its own. What it lacks is answered `unimplemented`; `commitOffsets` throws `OutcomeUnknown` where the client tells nobody what became of a commit. It reports what happens by `assigned`, `assignedBeside` or `added`, `revoked` or
 * `givenBack`, `lost`, `received`, `failed` and `commitEnded`.
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
  #isOver = false // no handler reports any more
  #capabilities
  #onRevoked = {}

  constructor(name, { write: to = write, wait = sleep, capabilities = [] } = {}) {
    this.#key = name
    this.#write = to
    this.wait = wait
    this.#capabilities = new Set(capabilities)
  }

  emit(name, fields = {}) {
    this.#write({ name, timestamp: Date.now(), ...fields, ...(this.#key !== undefined && { member: this.#key }) })
  }

  // What the client reports.

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

  /** A callback of the client's own, which waits for this: the application does what `on_revoked` asks of it, and then these are gone. */
  async givenBack(partitions, fields = {}) {
    this.emit('partitions_revoked', { partitions: inOrder(partitions), ...fields })
    await this.wait(this.#onRevoked.sleep_ms ?? 0)
    if (this.#onRevoked.commit) await this.commitQuietly()
    this.#forget(partitions)
    this.emit('callback_done')
  }

  #callback(name, partitions, fields) {
    this.emit(name, { partitions: inOrder(partitions), ...fields })
    this.emit('callback_done')
  }

  #forget(partitions) {
    const gone = new Set(partitions.map(({ topic, partition }) => key(topic, partition)))
    for (const name of gone) this.#positions.delete(name)
    this.assignment = this.assignment.filter(({ topic, partition }) => !gone.has(key(topic, partition)))
  }

  /** The application's handler, given messages [{topic, partition, offset}] as clients have them; more in `records`. */
  async received(messages) {
    if (messages.length > 0) await this.records(rangesOf(messages))
  }

  /** The application's handler: `ranges` are [{topic, partition, minOffset, maxOffset, count}]. It is held while paused, and as slow as it was asked to be. */
  async records(ranges) {
    while (this.gate.isShut) await this.gate.pass() // looked at again after each wait: nothing may be written once the pause is answered
    if (this.#isOver) return
    for (const { topic, partition, maxOffset } of ranges) this.#positions.set(key(topic, partition), maxOffset + 1)
    this.emit('records_consumed', { count: ranges.reduce((sum, { count }) => sum + count, 0), partitions: inOrder(ranges) })
    if (this.#handlerDelayMs > 0) await this.wait(this.#handlerDelayMs)
  }

  /** Report an error, and return what was reported. */
  failed(error, { fatal } = {}) {
    const named = problemOf(error)
    const problem = { ...named, fatal: fatal ?? named.fatal }
    this.emit('error', problem)
    return problem
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
      pause: () => (this.#capabilities.has('pause') ? this.pauseFlow() : this.#cannot('this client cannot be stopped from handing records over')),
      resume: () => this.resumeFlow(),
      commit: (command) => this.#commit(command),
      assignment: () => ({ partitions: this.assignment }),
      position: ({ partitions }) => ({ offsets: this.positions(partitions) }),
      committed: async ({ partitions }) => ({ offsets: await this.#committed(partitions ?? this.positions().map(([topic, partition]) => [topic, partition])) }),
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

  #committed(partitions) {
    if (!this.committed) this.#cannot('this client does not say what was committed')
    return this.committed(partitions)
  }

  async #subscribe(command) {
    if (this.#hasSubscribed) this.#refuse('this member has subscribed already')
    const settings = new Settings(command)
    this.#handlerDelayMs = settings.take('handler_delay_ms', 0)
    if (this.#capabilities.has('on-revoked')) this.#onRevoked = settings.take('on_revoked', {})
    const dialect = settings.take('protocol', 'classic')
    if (settings.take('group_protocol', dialect) !== 'classic') ['protocol', 'group_protocol'].forEach((name) => settings.ignore(name))
    settings.take('broker_release') // nothing hangs on it: clients ask the brokers
    await this.start(settings)
    this.#hasSubscribed = true
    this.emit('startup_complete')
    return { ignored: settings.ignored }
  }

  async #commit({ mode, offsets = this.consumed() }) {
    if (!this.commitOffsets) this.#cannot('this client commits by itself only')
    if (mode !== 'sync' && !this.#capabilities.has('commit-async')) this.#cannot('this client commits and waits for the answer')
    const done = this.#commitAndReport(offsets, mode)
    if (mode === 'sync') return { offsets, ...(await done) }
    done.catch(() => {}) // its event has reported it
    return { offsets }
  }

  async #commitAndReport(offsets, mode) {
    const listed = offsets.map(([topic, partition, offset]) => ({ topic, partition, offset }))
    try {
      await this.commitOffsets(listed, mode)
    } catch (error) {
      this.commitEnded(listed, error)
      if (error instanceof OutcomeUnknown) return UNKNOWN
      throw error
    }
    this.commitEnded(listed)
    return {}
  }

  /** Report the end of a commit [{topic, partition, offset}]; those that the client makes by itself are reported so too. */
  commitEnded(offsets, error) {
    const end = error instanceof OutcomeUnknown ? UNKNOWN : { success: !error, ...(error && problemOf(error)) }
    this.emit('offsets_committed', { ...end, offsets })
  }

  /** Commit what was read from a callback: its event reports a failure, and the rebalance goes on. */
  async commitQuietly() {
    await this.#commitAndReport(this.consumed(), 'sync').catch(() => {})
  }

  /** The handler keeps what it was given; a client that would then miss its heartbeats brings a way of its own. */
  async pauseFlow() {
    this.gate.shut()
  }

  async resumeFlow() {
    this.gate.open()
  }

  /** Resolve when nothing is in the application's hands any more. */
  async drained() {
    this.gate.open()
  }

  async close() {
    if (this.isClosed) return
    this.isClosed = true
    this.#isOver = this.gate.isShut // a paused application's handlers end without a report; another's still work, and their records may be committed at the close
    try {
      await this.drained()
      if (this.#hasSubscribed) await this.stop()
    } finally {
      this.#isOver = true
      this.emit('shutdown_complete')
    }
  }
}

/** Return the ranges of messages [{topic, partition, offset}], which a client may give as numbers, bigints or strings. */
function rangesOf(messages) {
  const ranges = new Map()
  for (const { topic, partition, offset } of messages) {
    const at = Number(offset)
    const range = ranges.get(key(topic, partition)) ?? { topic, partition, minOffset: at, count: 0 }
    ranges.set(key(topic, partition), { ...range, maxOffset: at, count: range.count + 1 })
  }
  return [...ranges.values()]
}
