// A shim of level 1 around node-rdkafka: librdkafka by its Node binding, whose application polls and assigns by itself.
import { PollingMember, installed, run } from './groupproof/index.mjs'
import { errorsOf, takeAssignors, takePollInterval } from './librdkafka.mjs'

const version = installed('node-rdkafka', import.meta.url)
const { CODES, KafkaConsumer, librdkafkaVersion } = (await import('node-rdkafka')).default
console.error('librdkafka', librdkafkaVersion)

const CAPABILITIES = ['classic', 'commit', 'commit-async', 'auto-commit', 'pause', 'poll-deadline', 'static', 'cooperative', 'on-revoked', 'resubscribe']
const RECORDS_MAX = 500
const CONNECTS_MAX = 5
const COMMITTED_MS_MAX = 10_000
const NOTHING_TO_COMMIT = CODES.ERRORS.ERR__NO_OFFSET

const named = errorsOf(CODES.ERRORS)
const bare = ({ topic, partition }) => ({ topic, partition })

class RdKafka extends PollingMember {
  #consumer
  #pending = [] // commits that have not called back: librdkafka calls back for those that were waited for, too, at some later poll

  async start(settings) {
    const topics = settings.take('topics')
    const [config, topicConfig] = this.#config(settings)
    this.#consumer = new KafkaConsumer(config, topicConfig)
    this.#consumer.setDefaultConsumeTimeout(settings.take('poll_timeout_ms', 100))
    this.#consumer.on('event.error', (error) => this.#met(error))
    this.#connect(topics, CONNECTS_MAX) // nobody waits for it: the command is answered when the client has its settings
  }

  // A connection that is lost within `connect`, which asks for metadata, ends it: the application connects again.
  #connect(topics, left) {
    this.#consumer.connect({}, (error) => {
      if (!error) return this.#go(topics)
      this.#met(error, left === 1)
      if (left > 1 && !this.isClosed) this.#connect(topics, left - 1)
    })
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

  #go(topics) {
    this.#consumer.subscribe(topics)
    this.pollUntilClosed()
  }

  poll() {
    return new Promise((resolve) =>
      this.#consumer.consume(RECORDS_MAX, (error, messages) => {
        if (error && !this.isClosed) this.#met(error)
        resolve(error ? [] : messages)
      }),
    )
  }

  #met(error, isFatal = Boolean(error.isFatal)) {
    this.failed(named(error), { fatal: isFatal })
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
    await this.givenBack(partitions.map(bare))
    if (isCooperative) this.#consumer.incrementalUnassign(partitions)
    else this.#consumer.unassign()
  }

  // The end of a commit that nobody waited for; an automatic one that had nothing to commit reports nothing.
  #committed(error, offsets) {
    const sent = (offsets ?? []).filter(({ offset }) => offset !== undefined).map(({ topic, partition, offset }) => ({ topic, partition, offset }))
    const failure = error ?? offsets?.find((each) => each.error)?.error
    const place = this.#pending.findIndex(({ key }) => key === keyOf(sent))
    const [asked] = place >= 0 ? this.#pending.splice(place, 1) : []
    if (asked) failure ? asked.reject(named(failure)) : asked.resolve()
    else if (failure?.code !== NOTHING_TO_COMMIT) this.commitEnded(sent, failure && named(failure))
  }

  async commitOffsets(offsets, mode) {
    if (offsets.length === 0) return // which other clients call a success
    try {
      if (mode === 'sync') {
        this.#pending.push({ key: keyOf(offsets), resolve() {}, reject() {} })
        return void this.#consumer.commitSync(offsets)
      }
      const done = new Promise((resolve, reject) => this.#pending.push({ key: keyOf(offsets), resolve, reject }))
      this.#consumer.commit(offsets)
      return await done
    } catch (error) {
      throw named(error)
    }
  }

  async committed(partitions) {
    const asked = partitions.map(([topic, partition]) => ({ topic, partition }))
    const answer = await new Promise((resolve, reject) =>
      this.#consumer.committed(asked, COMMITTED_MS_MAX, (error, found) => (error ? reject(named(error)) : resolve(found))),
    )
    return answer.map(({ topic, partition, offset }) => [topic, partition, offset ?? -1])
  }

  changeTopics(topics) {
    this.#consumer.subscribe(topics)
  }

  async leaveGroup() {
    this.#consumer.unsubscribe()
    await this.resumeFlow() // partitions are given back by polls
  }

  async stop() {
    await new Promise((resolve) => this.#consumer.disconnect(resolve))
  }
}

const keyOf = (offsets) => JSON.stringify(offsets.map(({ topic, partition, offset }) => `${topic}-${partition}-${offset}`).sort())

run({ client: 'node-rdkafka', version, capabilities: CAPABILITIES, member: RdKafka })
