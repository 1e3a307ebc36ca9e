// A shim of level 1 around @platformatic/kafka, whose records come by a Node stream.
import { Member, Unimplemented, cannotRunHere, installed, rangeShares, run } from './groupproof/index.mjs'

const CAPABILITIES = ['classic', 'consumer', 'commit', 'commit-async', 'auto-commit', 'pause', 'static', 'resubscribe']
const RECONSUME_MS = 1000 // before an application whose stream broke makes another

// 2.12 asks for Node 22.22; in an older one it breaks at the first method that is not there.
if (Number(process.versions.node.split('.')[0]) < 22) cannotRunHere(`@platformatic/kafka needs Node 22.22 or 24.6, this is ${process.versions.node}`)

const version = installed('@platformatic/kafka', import.meta.url)
const { Consumer } = await import('@platformatic/kafka').catch((error) => cannotRunHere(`@platformatic/kafka ${version} does not load under Node ${process.version}: ${error.message}`))
const [major, minor] = version.split('.').map(Number)
const isCooperative = major > 2 || (major === 2 && minor >= 12) // cooperative-sticky came with 2.12

// The client's own are roundrobin and cooperative-sticky; this is Kafka's range, as an application would bring it.
function range(_current, members, topics, metadata) {
  const wishes = [...members].map(([memberId, member]) => ({ memberId, topics: member.topics ?? [] }))
  const numbers = (topic) => Array.from({ length: metadata.topics.get(topic)?.partitionsCount ?? 0 }, (_, partition) => partition)
  return rangeShares(wishes, numbers).map(({ memberId, assignment }) => {
    const shares = Object.entries(assignment).filter(([, partitions]) => partitions.length > 0)
    return { memberId, assignments: new Map(shares.map(([topic, partitions]) => [topic, { topic, partitions }])) }
  })
}

class Platformatic extends Member {
  #consumer
  #stream = null
  #consuming
  #isCooperative = false
  #isConsumer = false
  #hasLeft = false

  async start(settings) {
    const older = settings.take('protocol', 'classic')
    const isConsumer = settings.take('group_protocol', older) === 'consumer'
    this.#isConsumer = isConsumer
    this.#consumer = new Consumer({
      bootstrapBrokers: settings.take('bootstrap').split(','),
      ...(isConsumer ? this.#serverSide(settings) : this.#clientSide(settings)),
      ...settings.takeAll({
        group: 'groupId', client_id: 'clientId', instance_id: 'groupInstanceId', metadata_max_age_ms: 'metadataMaxAge',
        request_timeout_ms: 'requestTimeout', // no documented option, but one that its connections take
      }),
    })
    const interval = settings.take('auto_commit_interval_ms', 5000)
    if (interval < 100) settings.ignore('auto_commit_interval_ms') // this client takes none below
    const reset = settings.take('auto_offset_reset', 'latest')
    this.#consuming = {
      topics: settings.take('topics'),
      mode: 'committed',
      fallbackMode: reset === 'none' ? 'fail' : reset,
      autocommit: settings.take('auto_commit', false) && Math.max(interval, 100),
      ...settings.takeAll({ poll_timeout_ms: 'maxWaitTime' }),
    }
    this.#listen()
    this.#consume() // nobody waits for the join: the command is answered when the client has its settings
  }

  /** KIP-848: the brokers have the session and the interval, and assign. */
  #serverSide(settings) {
    const rebalance = settings.take('max_poll_interval_ms', 60_000)
    const session = Math.min(rebalance, 10_000) // it takes no rebalance timeout below its session timeout, which nothing hangs on here
    return {
      groupProtocol: 'consumer', rebalanceTimeout: rebalance, sessionTimeout: session, heartbeatInterval: Math.min(session, 3_000),
      ...settings.takeAll({ assignor: 'groupRemoteAssignor' }),
    }
  }

  #clientSide(settings) {
    const assignors = settings.takeAssignors(['range', 'roundrobin', ...(isCooperative ? ['cooperative-sticky'] : [])])
    if (assignors.length > 1 && assignors.includes('cooperative-sticky')) {
      throw new Unimplemented('beside an eager assignor nobody could tell which was agreed on: this client does not say') // and so not what is revoked
    }
    this.#isCooperative = assignors.includes('cooperative-sticky')
    const session = settings.take('session_timeout_ms', 10_000)
    const rebalance = settings.take('max_poll_interval_ms', 60_000)
    if (rebalance < session) settings.ignore('max_poll_interval_ms') // this client takes no rebalance timeout below its session timeout
    return {
      sessionTimeout: session,
      rebalanceTimeout: Math.max(rebalance, session),
      protocols: assignors.map((name) => ({ name, version: 1 })),
      ...(assignors[0] === 'range' && { partitionAssigner: range }),
      ...settings.takeAll({ heartbeat_interval_ms: 'heartbeatInterval' }),
    }
  }

  // This client has no callbacks of a rebalance, only these events. An eager member has given up what it had when a rebalance begins; a cooperative one keeps it.
  #listen() {
    const flattened = (assignments) => (assignments ?? []).flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
    this.#consumer.on('error', (error) => this.failed(error))
    this.#consumer.on('consumer:heartbeat:error', ({ error }) => this.failed(error))
    if (this.#isConsumer) {
      // It says nothing of the partitions that come and go. They are its own by the time that it heartbeats next, which tells the coordinator.
      this.#consumer.on('consumer:heartbeat:start', () => this.#change(flattened(this.#consumer.assignments)))
      this.#consumer.on('consumer:group:leave', () => this.revoked())
      return
    }
    this.#consumer.on('consumer:group:rebalance', () => this.#isCooperative ? this.#compare(flattened(this.#consumer.assignments)) : this.revoked())
    this.#consumer.on('consumer:group:leave', () => this.revoked())
    this.#consumer.on('consumer:group:join', ({ memberId, generationId, assignments }) => {
      const fields = { member_id: memberId, generation: generationId }
      if (this.#isCooperative) this.assignedBeside(flattened(assignments), fields)
      else this.assigned(flattened(assignments), fields)
    })
  }

  #change(partitions) {
    this.#compare(partitions)
    const known = new Set(this.assignment.map(({ topic, partition }) => `${topic}-${partition}`))
    const fresh = partitions.filter(({ topic, partition }) => !known.has(`${topic}-${partition}`))
    if (fresh.length > 0) this.added(fresh, { member_id: this.#consumer.memberId })
  }

  #compare(partitions) {
    const kept = new Set(partitions.map(({ topic, partition }) => `${topic}-${partition}`))
    this.revoked(this.assignment.filter(({ topic, partition }) => !kept.has(`${topic}-${partition}`)))
  }

  /** One loop for the member's whole life: a stream that is closed in order because the application wants other topics is followed by the next. */
  async #consume() {
    while (!this.isClosed && !this.#hasLeft) {
      const wanted = this.#consuming
      try {
        this.#stream = await this.#consumer.consume({ ...wanted })
        if (this.#hasLeft || this.#consuming !== wanted) await this.#stream.close() // the join was under way when the application changed its mind
        else await this.#read(this.#stream)
        if (this.#consuming === wanted) return
      } catch (error) {
        if (this.isClosed || this.#hasLeft) return
        if (this.failed(error).fatal) return
        await new Promise((resolve) => setTimeout(resolve, RECONSUME_MS))
      }
    }
  }

  /** Hand over what has come, all at once, until the stream ends; throw what breaks it. */
  #read(stream) {
    return new Promise((resolve, reject) => {
      let isReading = false
      const drain = async () => {
        if (isReading) return
        isReading = true
        for (;;) {
          await this.gate.pass()
          const messages = []
          for (let message = stream.read(); message !== null; message = stream.read()) messages.push(message)
          if (messages.length === 0) break
          await this.received(messages)
        }
        isReading = false
      }
      stream.on('readable', drain)
      stream.on('autocommit', (error) => error && this.failed(error))
      stream.once('error', reject)
      stream.once('close', resolve)
    })
  }

  async commitOffsets(offsets) {
    if (offsets.length === 0) return
    await this.#consumer.commit({ offsets: offsets.map((each) => ({ ...each, offset: BigInt(each.offset), leaderEpoch: -1 })) })
  }

  async committed(partitions) {
    const offsets = []
    for (const [topic, partition] of partitions) {
      const answer = await this.#consumer.listCommittedOffsets({ topics: [{ topic, partitions: [partition] }] })
      offsets.push([topic, partition, Number(answer.get(topic)?.[partition] ?? -1)])
    }
    return offsets
  }

  async changeTopics(topics) {
    if (this.#isConsumer && this.#consuming.topics.some((topic) => !topics.includes(topic))) {
      throw new Unimplemented('with KIP-848 this client gives up no topic that it has consumed')
    }
    this.#consuming = { ...this.#consuming, topics }
    await this.#stream?.close()
    if (!this.#hasLeft) return
    this.#hasLeft = false
    this.#consume()
  }

  async leaveGroup() {
    if (this.#isConsumer) throw new Unimplemented('with KIP-848 this client leaves its group when it is closed, and no sooner')
    this.#hasLeft = true
    await this.#stream?.close()
    await this.#consumer.leaveGroup(true)
  }

  async stop() {
    await this.#stream?.close()
    await this.#consumer.close(true)
  }
}

run({ client: '@platformatic/kafka', version, capabilities: [...CAPABILITIES, ...(isCooperative ? ['cooperative'] : [])], member: Platformatic })
