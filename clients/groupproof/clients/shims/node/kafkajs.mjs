// A shim of level 1 around kafkajs, which calls a handler for each batch and tells of rebalances by events.
import { setTimeout as sleep } from 'node:timers/promises'

import { Member, installed, rangeShares, run } from './groupproof/index.mjs'

const version = installed('kafkajs', import.meta.url)
const { AssignerProtocol, Kafka, PartitionAssigners, logLevel } = (await import('kafkajs')).default

const CAPABILITIES = ['classic', 'commit', 'commit-async', 'auto-commit', 'pause']
const IN_FLIGHT_MS = 200 // beyond the wait of a Fetch: within it a batch that was asked for before a pause is handed over
const { MemberAssignment, MemberMetadata } = AssignerProtocol

// kafkajs's only assignor is called RoundRobinAssigner, which no other client knows: an application that shares a group with others gives it Kafka's name.
const roundrobin = (given) => {
  const own = PartitionAssigners.roundRobin(given)
  return { ...own, name: 'roundrobin', protocol: (asked) => ({ name: 'roundrobin', metadata: own.protocol(asked).metadata }) }
}

// Kafka's range, written as kafkajs documents it: `topics` and the cluster are all that an assignor is given.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  protocol: ({ topics }) => ({ name: 'range', metadata: MemberMetadata.encode({ version: 0, topics }) }),
  async assign({ members, topics }) {
    const wishes = members.map(({ memberId, memberMetadata }) => ({ memberId, topics: MemberMetadata.decode(memberMetadata).topics.filter((topic) => topics.includes(topic)) }))
    const shares = rangeShares(wishes, (topic) => cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId))
    return shares.map(({ memberId, assignment }) => ({ memberId, memberAssignment: MemberAssignment.encode({ version: 0, assignment }) }))
  },
})

const ASSIGNORS = { range, roundrobin }

const toStderr = () => ({ label, log }) => console.error(label, JSON.stringify(log))

class KafkaJs extends Member {
  #kafka
  #consumer
  #group
  #topics
  #fetchMs

  async start(settings) {
    this.#group = settings.take('group')
    this.#topics = settings.take('topics')
    this.#fetchMs = settings.take('poll_timeout_ms', 5000)
    this.#kafka = new Kafka({
      brokers: settings.take('bootstrap').split(','),
      logLevel: logLevel.INFO,
      logCreator: toStderr,
      ...settings.takeAll({ client_id: 'clientId', request_timeout_ms: 'requestTimeout' }),
    })
    this.#consumer = this.#kafka.consumer({
      groupId: this.#group,
      partitionAssigners: settings.takeAssignors(Object.keys(ASSIGNORS)).map((name) => ASSIGNORS[name]),
      ...settings.takeAll({
        session_timeout_ms: 'sessionTimeout', heartbeat_interval_ms: 'heartbeatInterval', max_poll_interval_ms: 'rebalanceTimeout',
        poll_timeout_ms: 'maxWaitTimeInMs', metadata_max_age_ms: 'metadataMaxAge',
      }),
    })
    const reset = settings.take('auto_offset_reset', 'latest')
    if (reset === 'none') settings.ignore('auto_offset_reset') // kafkajs always resets
    this.#listen()
    const options = settings.takeAll({ auto_commit: 'autoCommit', auto_commit_interval_ms: 'autoCommitInterval' })
    // Nobody waits for the join: the command is answered when the client has its settings.
    this.#go(this.#topics, reset === 'earliest', { ...options, eachBatch: (payload) => this.#eachBatch(payload) })
  }

  async #go(topics, fromBeginning, options) {
    try {
      await this.#consumer.connect()
      for (const topic of topics) await this.#consumer.subscribe({ topic, fromBeginning }) // before 2.0 it takes one at a time
      await this.#consumer.run(options)
    } catch (error) {
      this.failed(error, { fatal: true })
    }
  }

  // kafkajs has no callbacks of a rebalance, only these events: what was assigned is given up when a rebalance begins.
  #listen() {
    const { GROUP_JOIN, REBALANCING, CRASH, STOP } = this.#consumer.events
    const on = (event, handler) => this.#consumer.on(event, handler)
    if (REBALANCING !== undefined) on(REBALANCING, () => this.revoked()) // which came with 1.16
    on(STOP, () => this.revoked())
    on(GROUP_JOIN, ({ payload }) => {
      const partitions = Object.entries(payload.memberAssignment).flatMap(([topic, numbers]) => numbers.map((partition) => ({ topic, partition })))
      this.assigned(partitions, { member_id: payload.memberId })
    })
    on(CRASH, ({ payload }) => {
      this.lost()
      this.failed(payload.error, { fatal: !payload.restart })
    })
  }

  #eachBatch({ batch }) {
    const range = { topic: batch.topic, partition: batch.partition, minOffset: Number(batch.firstOffset()), maxOffset: Number(batch.lastOffset()) }
    return this.records([{ ...range, count: batch.messages.length }])
  }

  async commitOffsets(offsets) {
    await this.#consumer.commitOffsets(offsets.map((place) => ({ ...place, offset: String(place.offset) })))
  }

  async committed(partitions) {
    const admin = this.#kafka.admin()
    await admin.connect()
    try {
      const answer = await admin.fetchOffsets({ groupId: this.#group, topics: [...new Set(partitions.map(([topic]) => topic))] })
      const found = (topic, partition) => answer.find((group) => group.topic === topic)?.partitions.find((place) => place.partition === partition)
      return partitions.map(([topic, partition]) => [topic, partition, Number(found(topic, partition)?.offset ?? -1)])
    } finally {
      await admin.disconnect()
    }
  }

  // A handler that keeps its batch would keep kafkajs from its heartbeats; a paused topic is fetched no more, and they go on.
  async pauseFlow() {
    this.#consumer.pause(this.#topics.map((topic) => ({ topic })))
    await sleep(this.#fetchMs + IN_FLIGHT_MS)
  }

  async resumeFlow() {
    this.#consumer.resume(this.#topics.map((topic) => ({ topic })))
  }

  leaveGroup() {
    return this.#consumer.stop()
  }

  stop() {
    return this.#consumer.disconnect()
  }
}

run({ client: 'kafkajs', version, capabilities: CAPABILITIES, member: KafkaJs })
