// A case is a subtest; what no case answers for fails the whole.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const here = join(dirname(fileURLToPath(import.meta.url)), 'fixtures')
const CASE = { title: 'A title.', requirements: ['HB-03'], expected: 'This.', observed: 'That.', grounds: '3 of 3', trace: 'cases/c/trace.ndjson', replay: 'groupproof replay c', preview: false, goodbye: 'CLEAN' }

function run(cases, { status = 0, says = 'kit says', ...env } = {}) {
  const notes = join(mkdtempSync(join(tmpdir(), 'kit-')), 'notes')
  const given = { CASES: cases ? JSON.stringify(cases.map((fields) => ({ ...CASE, ...fields }))) : '', STATUS: String(status), SAYS: says, NOTES: notes }
  const { NODE_TEST_CONTEXT, ...clean } = process.env // which would make the inner run report to the outer one
  const ran = spawnSync(process.execPath, ['--test', '--test-reporter=tap', join(here, 'suite.mjs')], {
    env: { ...clean, GROUPPROOF: `${process.execPath} ${join(here, 'kit.mjs')}`, ...given, ...env }, encoding: 'utf8',
  })
  const lines = ran.stdout.split('\n').map((line) => line.trim()).filter((line) => /^(not )?ok /.test(line))
  return { ...ran, lines: lines.map((line) => line.replace(/ \d+ - /, ' ')), called: JSON.parse(readFileSync(notes, 'utf8')) }
}

test('each case is a subtest of its id, and all is well', () => {
  const { status, lines, called } = run([{ id: 'a/b/c', verdict: 'OK' }, { id: 'a/b/d', verdict: 'INFORMATIONAL' }])
  assert.equal(status, 0)
  assert.deepEqual(lines.slice(0, 3), ['ok a/b/c', 'ok a/b/d', 'ok groupproof'])
  assert.deepEqual(called, ['certify', 'client', '--json', '--output', 'out', '--only', 'x', '--', 'node', 'shim.mjs'])
})

test('a registered client goes by its name', () => {
  assert.deepEqual(run([{ id: 'a', verdict: 'OK' }], { SUBJECT: 'kafkajs@2.2.4' }).called.slice(-3), ['--only', 'x', 'kafkajs@2.2.4'])
})

test('a FAILED case fails with its sentence, the trace and the line that replays it', () => {
  const { status, stdout, lines } = run([{ id: 'bad', verdict: 'FAILED' }, { id: 'good', verdict: 'OK' }], { status: 1 })
  assert.equal(status, 1)
  assert.deepEqual(lines.slice(0, 3), ['not ok bad', 'ok good', 'not ok groupproof'])
  for (const part of ['FAILED: That.', 'A title.', 'HB-03', 'expected     This.', join('out', 'cases/c/trace.ndjson'), 'groupproof replay c']) assert.ok(stdout.includes(part), part)
})

test('a case without the feature is skipped with its reason, and so are a known failure and a preview', () => {
  const excused = { reason: 'drops it', source: 'page.md' }
  const { status, lines } = run([
    { id: 'a', verdict: 'OK' },
    { id: 'b', verdict: 'UNIMPLEMENTED', observed: 'no static' },
    { id: 'c', verdict: 'EXCUSED', excused },
    { id: 'd', verdict: 'FAILED', preview: true },
  ])
  assert.equal(status, 0)
  assert.deepEqual(lines.slice(1, 4), ['ok b # SKIP no static', 'ok c # SKIP known: drops it (page.md)', 'ok d # SKIP preview, not counted: FAILED: That.'])
})

test('no verdict and a broken shim fail without blame', () => {
  const { status, stdout } = run([{ id: 'a', verdict: 'INCONCLUSIVE' }, { id: 'b', verdict: 'BROKEN' }], { status: 4 })
  assert.equal(status, 1)
  assert.match(stdout, /no verdict, which is not laid at the client's door: That\./)
  assert.match(stdout, /the shim is broken, which says nothing of the client: That\./)
})

test('what else fails a run is chosen by failOn', () => {
  const cases = [{ id: 'a', verdict: 'NON_STRICT' }, { id: 'b', verdict: 'OK', goodbye: 'UNCLEAN' }]
  assert.equal(run(cases).status, 0)
  assert.deepEqual(run(cases, { FAIL_ON: 'non-strict', status: 1 }).lines.slice(0, 2), ['not ok a', 'ok b'])
  const unclean = run(cases, { FAIL_ON: 'unclean', status: 1 })
  assert.deepEqual(unclean.lines.slice(0, 2), ['ok a', 'not ok b'])
  assert.deepEqual(unclean.called.slice(7, 9), ['--fail-on', 'unclean'])
})

for (const [what, cases, status] of [
  ['an environment that lacks something', null, 4],
  ['wrong usage', null, 3],
  ['a stale expectation', [{ id: 'a', verdict: 'OK' }], 1],
  ['a run that was interrupted', [{ id: 'a', verdict: 'OK' }], 130],
  ['a run that judged nothing', [{ id: 'a', verdict: 'UNIMPLEMENTED' }], 2],
]) {
  test(`${what} fails the whole, in the kit's words`, () => {
    const ran = run(cases, { status, says: 'the kit has a word to say' })
    assert.equal(ran.status, 1)
    assert.ok(ran.lines.includes('not ok groupproof'))
    assert.match(ran.stdout, /the kit has a word to say/)
  })
}

test('a kit that is not there is asked for', () => {
  const { NODE_TEST_CONTEXT, ...clean } = process.env
  const ran = spawnSync(process.execPath, ['--test', '--test-reporter=tap', join(here, 'suite.mjs')], { env: { ...clean, GROUPPROOF: 'no-such-program' }, encoding: 'utf8' })
  assert.equal(ran.status, 1)
  assert.match(ran.stdout, /no-such-program cannot be started: install groupproof/)
})
