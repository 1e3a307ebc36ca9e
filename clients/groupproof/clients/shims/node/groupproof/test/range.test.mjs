import assert from 'node:assert/strict'
import { test } from 'node:test'

import { rangeShares } from '../index.mjs'

test('each member has a run of partitions, the first ones one more, in the order of their ids', () => {
  const wishes = ['b', 'c', 'a'].map((memberId) => ({ memberId, topics: ['t'] }))
  assert.deepEqual(rangeShares(wishes, () => [10, 2, 1, 0]), [
    { memberId: 'b', assignment: { t: [2] } },
    { memberId: 'c', assignment: { t: [10] } },
    { memberId: 'a', assignment: { t: [0, 1] } },
  ])
})

test('a topic goes to those that asked for it, the leader or not', () => {
  const wishes = [{ memberId: 'a', topics: ['t'] }, { memberId: 'b', topics: ['u'] }, { memberId: 'c', topics: [] }]
  assert.deepEqual(rangeShares(wishes, (topic) => ({ t: [0, 1], u: [0] })[topic]), [
    { memberId: 'a', assignment: { t: [0, 1] } },
    { memberId: 'b', assignment: { u: [0] } },
    { memberId: 'c', assignment: {} },
  ])
})
