// The lines of the contract: JSON objects on stdout, one a line.
import { writeSync } from 'node:fs'

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
