// A polled client: polls one after the other, none while paused, and what a poll brought is reported before the pause is answered.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { Named, PollingMember } from '../index.mjs'

class Scripted extends PollingMember {
  lines = []
  polls = [] // the polls under way and past: what resolves or rejects each
  waits = [] // what ends each wait

  constructor() {
    const wait = () => new Promise((resolve) => this.waits.push(resolve))
    super(undefined, { write: (line) => this.lines.push(line), wait, capabilities: ['pause'] })
  }

  async start() {
    this.pollUntilClosed()
  }

  poll() {
    return new Promise((resolve, reject) => this.polls.push({ resolve, reject }))
  }

  async stop() {
    this.lines.push({ name: 'stopped' })
  }

  async ask(command) {
    await this.carryOut({ id: 1, command })
    return this.lines.at(-1)
  }

  get names() {
    return this.lines.map(({ name }) => name ?? 'answer')
  }
}

async function subscribed() {
  const member = new Scripted()
  await member.ask('subscribe')
  await turn()
  return member
}

const T0 = { topic: 't', partition: 0 }

test('what a poll brought is reported by partition, and the next poll follows', async () => {
  const member = await subscribed()
  member.polls[0].resolve([{ ...T0, offset: 3 }, { topic: 't', partition: 1, offset: 7n }, { ...T0, offset: '4' }])
  await turn()
  assert.deepEqual(member.lines.at(-1).partitions, [{ ...T0, minOffset: 3, maxOffset: 4, count: 2 }, { topic: 't', partition: 1, minOffset: 7, maxOffset: 7, count: 1 }])
  assert.equal(member.lines.at(-1).count, 3)
  assert.equal(member.polls.length, 2)
})

test('a poll that brought nothing reports nothing', async () => {
  const member = await subscribed()
  member.polls[0].resolve([])
  await turn()
  assert.deepEqual(member.names, ['startup_complete', 'answer'])
})

test('the answer to pause waits for the poll that is under way, and none follows until resume', async () => {
  const member = await subscribed()
  const paused = member.ask('pause')
  await turn()
  assert.equal(member.names.at(-1), 'answer')
  member.polls[0].resolve([{ ...T0, offset: 0 }])
  await paused
  assert.deepEqual(member.names.slice(2), ['records_consumed', 'answer'])
  await turn()
  assert.equal(member.polls.length, 1)
  await member.ask('resume')
  await turn()
  assert.equal(member.polls.length, 2)
})

test('after a fatal error there are no polls until resume', async () => {
  const member = await subscribed()
  member.polls[0].reject(new Named('FENCED_INSTANCE_ID', 'fenced'))
  await turn()
  assert.deepEqual([member.lines.at(-1).error, member.lines.at(-1).fatal], ['FENCED_INSTANCE_ID', true])
  member.waits[0]()
  await turn()
  assert.equal(member.polls.length, 1)
  await member.ask('resume')
  await turn()
  assert.equal(member.polls.length, 2)
})

test('after an error that passes the next poll follows', async () => {
  const member = await subscribed()
  member.polls[0].reject(new Named('REBALANCE_IN_PROGRESS', 'passes'))
  await turn()
  assert.equal(member.polls.length, 1)
  member.waits[0]()
  await turn()
  assert.equal(member.polls.length, 2)
})

test('close waits for the poll that is under way, paused or not', async () => {
  const member = await subscribed()
  const closed = member.ask('close')
  await turn()
  assert.ok(!member.names.includes('stopped'))
  member.polls[0].resolve([])
  await closed
  assert.deepEqual(member.names.slice(-3), ['stopped', 'shutdown_complete', 'answer'])
})
