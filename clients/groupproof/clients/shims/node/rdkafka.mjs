// A shim of level 1 around node-rdkafka: librdkafka by its Node binding, whose application polls and assigns by itself.
import { setTimeout as sleep } from 'node:timers/promises'

import { errorsOf, takeAssignors, takePollInterval } from './librdkafka.mjs'
import { Gate, Member, installed, run } from './lines.mjs'

const version = installed('node-rdkafka', import.meta.url)
const { CODES, KafkaConsumer, librdkafkaVersion } = (await import('node-rdkafka')).default
console.error('librdkafka', librdkafkaVersion)

const CAPABILITIES = ['classic', 'commit', 'commit-async', 'auto-commit', 'pause', 'poll-deadline', 'static', 'cooperative', 'on-revoked', 'resubscribe']
const RECORDS_MAX = 500
const COMMITTED_MS_MAX = 10_000
const NOTHING_TO_COMMIT = CODES.ERRORS.ERR__NO_OFFSET

const named = errorsOf(CODES.ERRORS)
const bare = ({ topic, partition }) => ({ topic, partition })

class RdKafka extends Member {
  #consumer
  #polls = new Gate()
  #poll = Promise.resolve()
  #pollMs
  #onRevoked
  #pending = [] // asynchronous commits that have not called back

  async start(settings) {
    const topics = settings.take('topics')
    this.#pollMs = settings.take('poll_timeout_ms', 100)
    this.#onRevoked = settings.take('on_revoked', {})
    const [config, topicConfig] = this.#config(settings)
    this.#consumer = new KafkaConsumer(config, topicConfig)
    this.#consumer.setDefaultConsumeTimeout(this.#pollMs)
    this.#consumer.on('event.error', (error) => this.#failed(error))
    // Nobody waits for the connection: the command is answered when the client has been told.
    this.#consumer.connect({}, (error) => (error ? this.#failed(error, true) : this.#go(topics)))
  }

  #config(settings) {
    const config = {
      'partition.assignment.strategy': takeAssignors(settings).join(','),
      'max.poll.interval.ms': takePollInterval(settings),
      rebalance_cb: (error, partitions) => this.#rebalanced(error, partitions),
      offset_commit_cb: (error, offsets) => this.#committed(error, offsets),
      ...settings.takeAll({
        bootstrap: 'bootstrap.servers', group: 'group.id', client_id: 'client.id', instance_id: 'group.instance.id', session_timeout_ms: 'session.timeout.ms',
        heartbeat_interval_ms: 'heartbeat.interval.ms', auto_commit: 'enable.auto.commit',
        auto_commit_interval_ms: 'auto.commit.interval.ms', metadata_max_age_ms: 'topic.metadata.refresh.interval.ms', request_timeout_ms: 'socket.timeout.ms',
        retry_backoff_ms: 'retry.backoff.ms', reconnect_backoff_ms: 'reconnect.backoff.ms',
      }),
    }
    const reset = settings.take('auto_offset_reset', 'latest')
    return [{ ...config, ...settings.take('properties', {}) }, { 'auto.offset.reset': reset === 'none' ? 'error' : reset }]
  }

  // The application polls, one poll after the other, until it is paused or closed.
  async #go(topics) {
    this.#consumer.subscribe(topics)
    while (!this.isClosed) {
      await this.#polls.pass()
      if (this.isClosed) return
      this.#poll = this.#once()
      await this.#poll
    }
  }

  async #once() {
    const messages = await new Promise((resolve) =>
      this.#consumer.consume(RECORDS_MAX, (error, got) => {
        if (error && !this.isClosed) this.#failed(error)
        resolve(error ? [] : got)
      }),
    )
    if (messages.length === 0) return
    const ranges = new Map()
    for (const { topic, partition, offset } of messages) {
      const range = ranges.get(`${topic}-${partition}`) ?? { topic, partition, minOffset: offset, count: 0 }
      ranges.set(`${topic}-${partition}`, { ...range, maxOffset: offset, count: range.count + 1 })
    }
    await this.records([...ranges.values()])
  }

  #failed(error, isFatal = Boolean(error.isFatal)) {
    this.failed(named(error), { fatal: isFatal })
    if (isFatal) this.#polls.shut() // the application ends here, until somebody resumes it
  }

  // librdkafka waits for its application to assign what it was given, or to give it up.
  async #rebalanced(error, partitions) {
    const isCooperative = this.#consumer.rebalanceProtocol() === 'COOPERATIVE'
    if (error.code === CODES.ERRORS.ERR__ASSIGN_PARTITIONS) {
      this.added(partitions.map(bare))
      if (isCooperative) this.#consumer.incrementalAssign(partitions)
      else this.#consumer.assign(partitions)
      return
    }
    await this.givenBack(partitions.map(bare), () => this.#whileRevoked())
    if (isCooperative) this.#consumer.incrementalUnassign(partitions)
    else this.#consumer.unassign()
  }

  async #whileRevoked() {
    await sleep(this.#onRevoked.sleep_ms ?? 0)
    if (this.#onRevoked.commit) await this.commitQuietly()
  }

  // The end of a commit that nobody waited for; an automatic one that had nothing to commit tells nothing.
  #committed(error, offsets) {
    const sent = (offsets ?? []).filter(({ offset }) => offset !== undefined).map(({ topic, partition, offset }) => ({ topic, partition, offset }))
    const failure = error ?? offsets?.find((each) => each.error)?.error
    const place = this.#pending.findIndex(({ key }) => key === keyOf(sent))
    const [asked] = place >= 0 ? this.#pending.splice(place, 1) : []
    if (asked) failure ? asked.reject(named(failure)) : asked.resolve()
    else if (failure?.code !== NOTHING_TO_COMMIT) this.tellCommit(sent, failure && named(failure))
  }

  async commitOffsets(offsets, mode) {
    if (offsets.length === 0) return // which other clients call a success
    try {
      if (mode === 'sync') return void this.#consumer.commitSync(offsets)
      const done = new Promise((resolve, reject) => this.#pending.push({ key: keyOf(offsets), resolve, reject }))
      this.#consumer.commit(offsets)
      return await done
    } catch (error) {
      throw named(error)
    }
  }

  async committed(partitions) {
    const asked = partitions.map(([topic, partition]) => ({ topic, partition }))
    const told = await new Promise((resolve, reject) =>
      this.#consumer.committed(asked, COMMITTED_MS_MAX, (error, found) => (error ? reject(named(error)) : resolve(found))),
    )
    return told.map(({ topic, partition, offset }) => [topic, partition, offset ?? -1])
  }

  changeTopics(topics) {
    this.#consumer.subscribe(topics)
  }

  async pauseFlow() {
    this.#polls.shut()
    await this.#poll // what it brought is told before the pause is answered
  }

  async resumeFlow() {
    this.#polls.open()
  }

  leaveGroup() {
    this.#consumer.unsubscribe()
    this.#polls.open() // partitions are given back by polls
  }

  async stop() {
    this.#polls.open()
    await this.#poll
    await new Promise((resolve) => this.#consumer.disconnect(resolve))
  }
}

const keyOf = (offsets) => JSON.stringify(offsets.map(({ topic, partition, offset }) => `${topic}-${partition}-${offset}`).sort())

run({ client: 'node-rdkafka', version, capabilities: CAPABILITIES, make: (name, options) => new RdKafka(name, options) })
