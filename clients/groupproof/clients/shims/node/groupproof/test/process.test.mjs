// The process of a shim: its stdout is the contract's.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('what a client prints goes to stderr, whichever way it prints', () => {
  const ran = spawnSync(process.execPath, [fileURLToPath(new URL('fixtures/printing.mjs', import.meta.url))], { input: '', encoding: 'utf8' })
  assert.deepEqual(ran.stdout.trim().split('\n').map((line) => JSON.parse(line).name), ['hello'])
  assert.equal(ran.stderr, 'by the console\npast the console\n')
})
